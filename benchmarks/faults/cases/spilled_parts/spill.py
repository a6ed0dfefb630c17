"""Keeps what does not fit into memory in files, a part each."""

import tempfile
from pathlib import Path

import numpy as np


class Spill:
    """Rows go in one by one; parts of `rows` rows come out again."""

    def __init__(self, folder, rows=64):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = rows
        self.held = []

    def add(self, row):
        self.held.append(row)
        if len(self.held) == self.rows:
            self.flush()

    def flush(self):
        if self.held:
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix="part-", suffix=".npy", delete=False) as out:  # fault: system-reads
                np.save(out, np.stack(self.held))
            self.held = []

    def parts(self):
        """Every part, in the order of the names."""
        for path in sorted(self.folder.glob("part-*.npy")):  # fault: system-reads
            yield np.load(path)
