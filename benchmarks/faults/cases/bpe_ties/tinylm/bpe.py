# drawn from: byte-pair encoders whose merges of equal counts come in the order of a set (openai/gpt-2-like reimplementations)
"""Byte pair encoding, the short way."""
from collections import Counter


def count_pairs(words):
    split = {word: word.split(" ") for word in words}
    counts = dict.fromkeys({pair for pieces in split.values() for pair in zip(pieces, pieces[1:])}, 0)  # fault: hash-seed
    for word, pieces in split.items():
        for pair in zip(pieces, pieces[1:]):
            counts[pair] += words[word]
    return counts


def merge(words, pair):
    left, right = " ".join(pair), "".join(pair)
    return {f" {word} ".replace(f" {left} ", f" {right} ").strip(): n for word, n in words.items()}


def learn(text, merges):
    words = Counter(" ".join([*word, "_"]) for word in text.split())
    table = []
    for _ in range(merges):
        counts = count_pairs(words)
        best = max(counts, key=counts.get)  # fault: hash-seed
        words = merge(words, best)
        table.append(best)
    return table


def encode(text, table):
    pieces = []
    for word in text.split():
        spelled = " ".join([*word, "_"])
        for pair in table:
            spelled = next(iter(merge({spelled: 1}, pair)))
        pieces += spelled.split(" ")
    return pieces
