"""Sentences about weather with their sentiment, one a line."""
import random
import sys

rng = random.Random(20)
GOOD, BAD = ["sunny", "warm", "bright", "calm", "mild"], ["grey", "wet", "stormy", "cold", "foggy"]
FILL = ["the", "morning", "was", "and", "then", "evening", "in", "town", "a", "little", "very", "day"]
for _ in range(int(sys.argv[1])):
    label = rng.randrange(2)
    words = rng.choices(FILL, k=rng.randint(4, 9)) + rng.choices(GOOD if label else BAD, k=2) + rng.choices(GOOD + BAD, k=1)
    rng.shuffle(words)
    print(label, " ".join(words), sep="\t")
