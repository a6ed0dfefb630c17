"""What keyed samples cost: samerun's DataLoader beside torch's own, on the same samples.

    python benchmarks/bench_loader.py [--samples 12000] [--rounds 7]

28 x 28 uint8 images, batches of 64, with the light augmentation of a digits training, by torchvision itself:
RandomAffine (10 degrees, two pixels), RandomErasing (1 in 4), ToDtype and Normalize of torchvision.transforms
.v2. Epochs of both loaders alternate, in random order, in one process with workers kept alive; a ratio is the
median over pairs of epochs, with its quartiles. Then the time and size of state_dict at 10**7 samples, and
the cost of seeding one sample by itself.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import timeit

import torch

from samerun.data import DataLoader
from samerun.sources import _generators
from samerun.streams import stream

THROUGHPUT, OVERHEAD_US, STATE_MS, STATE_BYTES = 0.95, 15.0, 1.0, 10_000

# torchvision imports without its C++ operators, where its wheel is for another build of torch (on PyPI they
# are for CUDA), but for these two, which have to be known by name. The transforms need none of them.
operators = torch.library.Library("torchvision", "FRAGMENT")
try:
    from torchvision.transforms import v2
except RuntimeError:
    for name in ("nms", "qnms"):
        operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    from torchvision.transforms import v2


class Digits(torch.utils.data.Dataset):
    def __init__(self, samples: int) -> None:
        self.images = torch.randint(0, 256, (samples, 1, 28, 28), dtype=torch.uint8)
        self.transform = v2.Compose(
            [
                v2.RandomAffine(degrees=10, translate=(2 / 28, 2 / 28)),
                v2.RandomErasing(p=0.25),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize((0.1307,), (0.3081,)),
            ]
        )

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.transform(self.images[index]), index % 10


def epoch(loader: torch.utils.data.DataLoader) -> float:
    """Seconds of one pass."""
    begin = timeit.default_timer()
    for _ in loader:
        pass
    return timeit.default_timer() - begin


def compare(dataset: Digits, workers: int, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds an epoch of torch's loader and of samerun's."""
    options = {"batch_size": 64, "shuffle": True, "num_workers": workers, "persistent_workers": workers > 0}
    loaders = (torch.utils.data.DataLoader(dataset, **options), DataLoader(dataset, seed=0, **options))
    seconds: tuple[list[float], list[float]] = ([], [])
    order = random.Random(workers)
    for loader in loaders:
        epoch(loader)
    for _ in range(rounds):
        for which in order.sample((0, 1), 2):
            seconds[which].append(epoch(loaders[which]))
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=12_000)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    failed: list[str] = []
    dataset = Digits(arguments.samples)
    print("microseconds a sample")
    print(f"{'workers':>7} {'torch':>9} {'samerun':>11} {'more':>7} {'throughput':>11} {'quartiles':>13}")
    for workers in (0, 2, 4):
        torchs, ours = compare(dataset, workers, arguments.rounds)
        ratios = [base / own for base, own in zip(torchs, ours, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        base, own = (statistics.median(each) / arguments.samples * 1e6 for each in (torchs, ours))
        more = statistics.median(own - base for base, own in zip(torchs, ours, strict=True))
        more *= 1e6 / arguments.samples
        print(f"{workers:7} {base:9.1f} {own:11.1f} {more:7.1f} {middle:11.3f} {low:6.3f}-{high:.3f}")
        if middle < THROUGHPUT:
            failed.append(f"{workers} workers: throughput {middle:.3f} of torch's is under {THROUGHPUT}")
        if more > OVERHEAD_US:
            failed.append(f"{workers} workers: {more:.1f} us a sample are over {OVERHEAD_US}")
    above = stream(0, "data", 0, "sample")
    seeding = (
        min(timeit.repeat(lambda: _generators.seed_all(above.child_seed(7)), number=5000, repeat=9)) / 5000
    )
    print(f"\nseeding python, NumPy and torch for one sample: {seeding * 1e6:.1f} us")
    loader = DataLoader(range(10_000_000), batch_size=64, shuffle=True, seed=0)
    next(iter(loader))
    taken = min(timeit.repeat(loader.state_dict, number=10, repeat=5)) / 10
    size = len(repr(loader.state_dict()))
    print(f"state_dict at 10**7 samples: {taken * 1e3:.3f} ms, {size} bytes")
    if taken * 1e3 > STATE_MS or size > STATE_BYTES:
        failed.append("state_dict is over its limits")
    print("\n" + ("\n".join(failed) if failed else "every figure within its limit"))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
