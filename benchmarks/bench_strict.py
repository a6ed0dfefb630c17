"""What mode strict costs whole trainings: ten models, with it and in torch's fast mode, side by side.

    python benchmarks/bench_strict.py [MODEL …] [--device cuda] [--scale full] [--rounds 10] [--runs 10]
                                      [--json FILE]

Fast is torch as it is fastest: cuDNN's benchmark mode on, TF32 as it is by default. Both train one model in
one process in turns of a few steps, in random order; a ratio is the median over the rounds, with its
quartiles. The memory fill of deterministic mode is off, as it is in mode strict. Then each variant trains
RUNS times from one seed, a few steps each: how many different weights come out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

LIMIT = 1.05  # on a GPU
LEAST = 0.3  # seconds that a turn takes, at least
STEPS = 5  # of each training that is repeated

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts: of both variants

import torch  # noqa: E402
from models import Step  # noqa: E402
from strict_models import MODELS  # noqa: E402

import samerun  # noqa: E402
from samerun.digest import digest_tensor  # noqa: E402


def measure(name: str, device: str, full: bool, rounds: int) -> dict[str, Any]:
    """Seconds a step of both variants, by round."""
    step = _build(name, device, full)
    seconds: dict[str, list[float]] = {"fast": [], "strict": []}

    def turn(variant: str, steps: int) -> float:
        with _in(variant):
            step()  # what is allocated, chosen or compiled anew
            _wait(device)
            begin = time.perf_counter()
            for _ in range(steps):
                step()
            _wait(device)
            return (time.perf_counter() - begin) / steps

    steps = max(1, round(LEAST / min(turn("fast", 2), turn("strict", 2))))
    order = random.Random(0)
    for _ in range(rounds):
        for variant in order.sample(list(seconds), 2):
            seconds[variant].append(turn(variant, steps))
    ratios = [strict / fast for strict, fast in zip(seconds["strict"], seconds["fast"], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    milliseconds = {variant: 1e3 * statistics.median(found) for variant, found in seconds.items()}
    return {**milliseconds, "ratio": middle, "q1": low, "q3": high, "steps": steps, "rounds": rounds}


def count_results(name: str, variant: str, device: str, full: bool, runs: int) -> int:
    """How many different weights so many trainings from one seed end with."""
    found = set()
    for _ in range(runs):
        with _in(variant):
            step = _build(name, device, full)
            for _ in range(STEPS):
                step()
            found.add(b"".join(digest_tensor(weight.detach()) for weight in step.model.parameters()))
    return len(found)


def _in(variant: str) -> AbstractContextManager[Any]:
    torch.backends.cudnn.benchmark = variant == "fast"
    return samerun.control(seed=0) if variant == "strict" else nullcontext()


def _build(name: str, device: str, full: bool) -> Step:
    torch.manual_seed(0)
    torch.set_default_device(device)
    try:
        return MODELS[name](full)
    finally:
        torch.set_default_device(None)


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help=f"of {', '.join(MODELS)}; default all")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--scale", choices=("small", "full"), default="small")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--runs", type=int, default=10, help="trainings whose results are compared; 0 for none"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if unknown := set(options.models) - MODELS.keys():
        parser.error(f"no model is named {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    print(f"torch {torch.__version__}, {options.device}, {torch.get_num_threads()} threads, {options.scale}")
    times, results = f"{'fast ms':>9} {'strict ms':>10}", f"different results of {options.runs}"
    print(f"{'model':12} {times} {'ratio':>7} {'quartiles':>15} {results:>26}")
    warnings.filterwarnings("ignore", message="PYTHONHASHSEED")  # nothing here depends on it
    figures = {}
    for name in options.models or MODELS:
        row = figures[name] = measure(name, options.device, options.scale == "full", options.rounds)
        row["runs"] = options.runs
        row["results"] = {
            variant: count_results(name, variant, options.device, options.scale == "full", options.runs)
            for variant in ("fast", "strict")
        }
        over = "  over 1.05" if options.device == "cuda" and row["ratio"] > LIMIT else ""
        spread = f"{row['q1']:.3f}-{row['q3']:.3f}"
        times = f"{row['fast']:9.2f} {row['strict']:10.2f} {row['ratio']:7.3f}"
        results = f"fast {row['results']['fast']}, strict {row['results']['strict']}"
        print(f"{name:12} {times} {spread:>15} {results:>26}{over}", flush=True)
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
