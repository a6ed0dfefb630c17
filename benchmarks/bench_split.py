"""Splitting 10,000,000 samples: at most 2 s each way.

    python benchmarks/bench_split.py [SAMPLES]

The fastest of three calls counts, since other work on the machine only adds. Labels are integers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from samerun.data.folds import kfold
from samerun.data.splits import split

SECONDS = 2.0  # what must hold
REPEATS = 3
FRACTIONS = [0.8, 0.1, 0.1]


def main() -> int:
    """Print the table; 1 when a limit is passed."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 10**7
    labels = np.random.default_rng(0).integers(0, 1000, samples)
    tens, each = labels % 10, np.arange(samples)
    cases: dict[str, Callable[[], Any]] = {
        "fractions": lambda: split(samples, FRACTIONS, seed=0),
        "stratify, 10 classes": lambda: split(samples, FRACTIONS, seed=0, stratify=tens),
        "groups, 1000": lambda: split(samples, FRACTIONS, seed=0, groups=labels),
        "ids, int64": lambda: split(samples, FRACTIONS, seed=0, ids=each),
        "kfold, 5 folds": lambda: kfold(samples, 5, seed=0),
    }
    failed = False
    print(f"{samples:,} samples")
    print(f"{'case':<22} {'seconds':>8}")
    for case, call in cases.items():
        seconds = min(timed(call) for _ in range(REPEATS))
        over = seconds > SECONDS
        failed |= over
        print(f"{case:<22} {seconds:>8.2f}{'  <- OVER' if over else ''}")
    print(f"limit: {SECONDS:.0f} s")
    return int(failed)


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
