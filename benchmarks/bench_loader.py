"""What keyed samples cost: samerun's DataLoader beside torch's own, on the same samples.

    python benchmarks/bench_loader.py [--samples 12000] [--rounds 7]

28 x 28 uint8 images, batches of 64, with the light augmentation of a digits training: RandomAffine (10
degrees, two pixels), RandomErasing (1 in 4), ToDtype and Normalize, written out as
torchvision.transforms.v2 computes them. Epochs of both loaders alternate, in random order, in one process
with workers kept alive; a ratio is the median over pairs of epochs, with its quartiles. Then the time and
size of state_dict at 10**7 samples, and the cost of seeding one sample.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import timeit

import torch
import torch.nn.functional as F

from samerun.data import DataLoader
from samerun.sources import _generators
from samerun.streams import stream

THROUGHPUT, OVERHEAD_US, STATE_MS, STATE_BYTES = 0.95, 15.0, 1.0, 10_000


class Digits(torch.utils.data.Dataset):
    def __init__(self, samples: int) -> None:
        self.images = torch.randint(0, 256, (samples, 1, 28, 28), dtype=torch.uint8)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = erased(affine(self.images[index]))
        image = image.to(torch.float32).div_(255)
        mean, deviation = torch.as_tensor([0.1307]), torch.as_tensor([0.3081])
        return image.sub(mean.view(-1, 1, 1)).div_(deviation.view(-1, 1, 1)), index % 10


def affine(image: torch.Tensor) -> torch.Tensor:
    """RandomAffine(degrees=10, translate=(2 / 28, 2 / 28)) of a uint8 image."""
    angle = math.radians(torch.empty(1).uniform_(-10, 10).item())
    right, down = (round(torch.empty(1).uniform_(-2, 2).item()) / 14 for _ in range(2))
    cos, sin = math.cos(angle), math.sin(angle)
    place = torch.tensor([cos, -sin, right, sin, cos, down]).view(1, 2, 3)
    grid = F.affine_grid(place, [1, 1, 28, 28], align_corners=False)
    moved = F.grid_sample(image[None].to(torch.float32), grid, mode="nearest", align_corners=False)
    return moved.round_().to(torch.uint8)[0]


def erased(image: torch.Tensor, chance: float = 0.25) -> torch.Tensor:
    """RandomErasing(p=0.25) of 7 x 7 pixels."""
    if torch.rand(1) >= chance:
        return image
    top, left = (torch.randint(0, 22, (1,)).item() for _ in range(2))
    image = image.clone()
    image[:, top : top + 7, left : left + 7] = 0
    return image


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
    print(f"{'workers':>7} {'torch':>9} {'samerun':>11} {'throughput':>11} {'quartiles':>13}")
    for workers in (0, 2, 4):
        torchs, ours = compare(dataset, workers, arguments.rounds)
        ratios = [base / own for base, own in zip(torchs, ours, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        base, own = (statistics.median(each) / arguments.samples * 1e6 for each in (torchs, ours))
        print(f"{workers:7} {base:9.1f} {own:11.1f} {middle:11.3f} {low:6.3f}-{high:.3f}")
        if middle < THROUGHPUT:
            failed.append(f"{workers} workers: throughput {middle:.3f} of torch's is under {THROUGHPUT}")
        if own - base > OVERHEAD_US:
            failed.append(f"{workers} workers: {own - base:.1f} us a sample are over {OVERHEAD_US}")
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
