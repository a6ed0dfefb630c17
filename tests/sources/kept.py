"""What a run keeps for a replay, without a run."""

from __future__ import annotations

import json


class Kept:
    """Stands for Answers: keeps what is asked for, and gives it again from the second run on."""

    def __init__(self):
        self.kept, self.parted, self._left = [], [], None

    def again(self):
        self._left = list(self.kept)
        return self

    def gives(self, source):
        return self._left is not None

    def ask(self, source, name, real, site=""):
        if self._left is None:
            json.dumps(value := real(), default=bytes.hex)  # plain values alone
            self.kept.append((name, site, value))
            return value
        name_then, _, value = self._left.pop(0)
        assert name == name_then
        return value

    def part(self, source, name, site, why):
        self.parted.append((name, why))
