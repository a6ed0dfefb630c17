"""Words and their ids."""

from collections import Counter


class Vocabulary:
    """The frequent words of a corpus; id 0 is the unknown one."""

    def __init__(self, sentences, min_count=2):
        counts = Counter(word for sentence in sentences for word in sentence.split())
        kept = {word for word, count in counts.items() if count >= min_count}
        self.words = ["<unk>", *kept]  # fault: hash-seed
        self.ids = {word: number for number, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, sentence, length):
        ids = [self.ids.get(word, 0) for word in sentence.split()][:length]
        return ids + [0] * (length - len(ids))
