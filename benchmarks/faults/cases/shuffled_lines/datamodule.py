"""Prepares the lines of a corpus with the usual command line tools."""

import subprocess
from pathlib import Path

ADJECTIVES = ["old", "red", "small", "loud", "calm"]
NOUNS = ["dog", "train", "lamp", "river", "clock", "tree"]
VERBS = ["waits", "turns", "falls", "shines"]


def write_corpus(path, count=700):
    with open(path, "w") as out:
        for i in range(count):
            adjective, noun, verb = ADJECTIVES[i % 5], NOUNS[i * i % 6], VERBS[(i + i * i) % 4]
            out.write(f"{(i * i + i // 3) % 3}\tthe {adjective} {noun} {verb}{' again' if i % 3 == 0 else ''}\n")


class Corpus:
    def __init__(self, folder, lines):
        self.folder = Path(folder)
        self.lines = lines

    def prepare(self):
        """raw.tsv → train.tsv and valid.tsv."""
        self.folder.mkdir(exist_ok=True)
        write_corpus(self.folder / "raw.tsv")
        self.shell("sort -u raw.tsv -o unique.tsv")
        self.shell("cat raw.tsv | shuf > shuffled.tsv")  # fault: input-data
        self.shell(f"head -n {self.lines} shuffled.tsv > train.tsv")  # fault: input-data
        self.shell(f"tail -n +{self.lines + 1} shuffled.tsv > valid.tsv")  # fault: input-data

    def shell(self, line):
        subprocess.run(line, shell=True, check=True, cwd=self.folder)  # fault: input-data

    def read(self, name):
        """[(label, words)]."""
        rows = []
        with open(self.folder / f"{name}.tsv") as lines:  # fault: input-data
            for line in lines:
                label, _, text = line.rstrip("\n").partition("\t")
                rows.append((int(label), text.split()))
        return rows

    def words(self):
        text = (self.folder / "unique.tsv").read_text()
        return sorted({word for line in text.splitlines() for word in line.split("\t")[1].split()})
