import pickle
import sys

from corpus import sentences

words = {word for text, _ in sentences() for word in text.split()}
words -= {"the", "and", "of"}
with open(sys.argv[1], "wb") as out:
    pickle.dump(frozenset(words), out)
print(f"{len(words)} words")
