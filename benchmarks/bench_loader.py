"""What keyed samples cost: samerun's DataLoader, and torch's own under `samerun run`, beside torch's own.

    python benchmarks/bench_loader.py [--samples 1280] [--rounds 60] [--workers 0 2 4]

28 x 28 uint8 images, batches of 64, with the light augmentation of a digits training, by torchvision itself:
RandomAffine (10 degrees, two pixels), RandomErasing (1 in 4), ToDtype and Normalize of torchvision.transforms
.v2. Short epochs of the three loaders take turns, in random order, in one process with workers kept alive, so
that whatever else the machine does befalls all three. Throughput is the median over rounds of torch's seconds
by a loader's in the same round, with its quartiles. What a loader costs more is processor time of this
process and of all workers (as Linux keeps it), which waits for nobody: likewise the median over rounds. Of
the rounds the quieter half counts, that in which other programs had the smallest share of the processors.

Then the same of samples that are there already, which takes so little time that the fastest of many epochs
says what keying costs, whatever the machine does meanwhile; the time and size of state_dict at 10**7 samples;
and the time of splitting as many.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import sys
import time
import timeit
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil
import torch

from samerun.data import DataLoader, split
from samerun.sources.per_sample import dataloaders

THROUGHPUT, OVERHEAD_US, STATE_MS, STATE_BYTES, SPLIT_S = 0.95, 15.0, 1.0, 10_000, 2.0
MANY = 10_000_000

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


@dataclass
class Spent:
    """Seconds of each epoch of a loader."""

    loader: torch.utils.data.DataLoader
    controlled: bool = False
    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def epoch(self, processes: list[int]) -> None:
        """One pass; `processes` are all workers, of which the other loaders' wait, and this one."""
        undo: Callable[[], None] | None = dataloaders.install(0) if self.controlled else None
        try:
            processor, wall = used(processes), timeit.default_timer()
            for _ in self.loader:
                pass
            self.wall.append(timeit.default_timer() - wall)
            self.processor.append(used(processes) - processor)
        finally:
            if undo is not None:
                undo()


def used(processes: list[int]) -> float:
    """Seconds of processor time, by the clock of each (clock_getcpuclockid(3))."""
    return sum(time.clock_gettime(~process << 3 | 2) for process in processes)


def busy() -> float:
    """Seconds that the machine's processors have worked, for whomever."""
    times = psutil.cpu_times()
    return times.user + times.nice + times.system + times.irq + times.softirq + times.steal


def three_of(dataset: object, **options: object) -> list[Spent]:
    """torch's loader, samerun's, and torch's under `samerun run`."""
    return [
        Spent(torch.utils.data.DataLoader(dataset, shuffle=True, **options)),
        Spent(DataLoader(dataset, shuffle=True, seed=0, **options)),
        Spent(torch.utils.data.DataLoader(dataset, shuffle=True, **options), controlled=True),
    ]


def made_already(samples: int, rounds: int) -> list[float]:
    """Microseconds a sample of the three loaders, of samples that nothing is done to."""
    three = three_of(range(samples), batch_size=64)
    for _ in range(rounds):
        for each in three:
            each.epoch([])
    return [min(each.wall) / samples * 1e6 for each in three]


def compare(dataset: Digits, workers: int, rounds: int) -> tuple[list[Spent], float]:
    """What epochs take of torch's loader, of samerun's, and of torch's under `samerun run`, in quiet rounds.

    Also the largest share of the processors that other programs had in these.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than processors
        three = three_of(dataset, batch_size=64, num_workers=workers, persistent_workers=workers > 0)
        for each in three:
            each.epoch([])  # starts the workers
            each.wall.clear()
            each.processor.clear()
    processes = [os.getpid(), *(worker.pid for worker in multiprocessing.active_children())]
    order = random.Random(workers)
    others = []
    for _ in range(rounds):
        begin, others_before = timeit.default_timer(), busy() - used(processes)
        for each in order.sample(three, 3):
            each.epoch(processes)
        available = (timeit.default_timer() - begin) * (os.cpu_count() or 1)
        others.append(max(0.0, busy() - used(processes) - others_before) / available)
    quiet = sorted(range(rounds), key=others.__getitem__)[: (rounds + 1) // 2]
    for each in three:
        each.wall, each.processor = ([spent[n] for n in quiet] for spent in (each.wall, each.processor))
    return three, others[quiet[-1]]


def report(which: str, base: Spent, own: Spent, samples: int, workers: int, others: float) -> list[str]:
    """Print a row; what is over its limit."""
    low, throughput, high = statistics.quantiles(
        [torchs / ours for torchs, ours in zip(base.wall, own.wall, strict=True)], n=4
    )
    more = [ours - torchs for torchs, ours in zip(base.processor, own.processor, strict=True)]
    least, middle, most = (each / samples * 1e6 for each in statistics.quantiles(more, n=4))
    torchs, ours = (statistics.median(each.wall) / samples * 1e6 for each in (base, own))
    print(
        f"{workers:7} {which:>13} {torchs:8.1f} {ours:8.1f} {throughput:11.3f} {low:6.3f}-{high:.3f}"
        f" {middle:9.1f} {least:8.1f} to {most:5.1f} {others:8.0%}"
    )
    over = []
    if throughput < THROUGHPUT:
        over.append(f"{which}, {workers} workers: throughput {throughput:.3f} is under {THROUGHPUT}")
    if middle > OVERHEAD_US:
        over.append(f"{which}, {workers} workers: {middle:.1f} us a sample are over {OVERHEAD_US}")
    return over


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1280)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2, 4])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    failed: list[str] = []
    dataset = Digits(arguments.samples)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; microseconds a sample")
    print(
        f"{'workers':>7} {'':>13} {'torch':>8} {'own':>8} {'throughput':>11} {'quartiles':>12}"
        f" {'CPU more':>10} {'quartiles':>16} {'others':>8}"
    )
    for workers in arguments.workers:
        (torchs, data, run), others = compare(dataset, workers, arguments.rounds)
        for which, own in (("samerun.data", data), ("samerun run", run)):
            failed += report(which, torchs, own, arguments.samples, workers, others)
    torchs, data, run = made_already(arguments.samples * 5, arguments.rounds)
    print(f"\nsamples made already: torch {torchs:.1f}, samerun.data {data:.1f}, samerun run {run:.1f}")
    loader = DataLoader(range(MANY), batch_size=64, shuffle=True, seed=0)
    next(iter(loader))
    taken = min(timeit.repeat(loader.state_dict, number=10, repeat=5)) / 10
    size = len(repr(loader.state_dict()))
    print(f"state_dict at 10**7 samples: {taken * 1e3:.3f} ms, {size} bytes")
    if taken * 1e3 > STATE_MS or size > STATE_BYTES:
        failed.append("state_dict is over its limits")
    seconds = min(timeit.repeat(lambda: split(MANY, [0.8, 0.2], seed=0), number=1, repeat=3))
    print(f"split of 10**7 samples: {seconds:.2f} s; load now {os.getloadavg()[0]:.1f}")
    if seconds > SPLIT_S:
        failed.append(f"split takes {seconds:.2f} s, over {SPLIT_S}")
    print("\n" + ("\n".join(failed) if failed else "every figure within its limit"))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
