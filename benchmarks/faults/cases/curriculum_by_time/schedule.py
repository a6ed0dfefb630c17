"""Sequences grow as training goes on."""

import time


class LengthCurriculum:
    """From the shortest to the longest length over the warm-up."""

    def __init__(self, shortest, longest, warmup_seconds):
        self.shortest = shortest
        self.longest = longest
        self.warmup_seconds = warmup_seconds
        self.began = time.monotonic()  # fault: clock

    def progress(self):
        return min(1.0, (time.monotonic() - self.began) / self.warmup_seconds)  # fault: clock

    def length(self):
        return int(self.shortest + self.progress() * (self.longest - self.shortest))
