"""What recording costs a whole training of a few seconds: its start, its steps and its end.

    python benchmarks/bench_start.py [ROUNDS]

A script of 20 small steps runs plainly, recorded at tier `steps`, and as `diagnose` records its first
runs, at tier `ops` in the setup and the first step. The three take turns. Most of their time is torch's
import and what the interpreter does at its end, so this tells what a short run pays; bench_recording.py
tells what a step pays.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Store

ROUNDS = 12
TRAINING = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(net.parameters())
for step in range(20):
    loss = torch.nn.functional.cross_entropy(net(torch.randn(64, 32)), torch.randint(4, (64,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def main() -> int:
    """Take turns, and print the ratios."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(TRAINING)
        command = [sys.executable, "train.py"]
        request, at = LaunchRequest(command), Workspace(folder, Store(folder / ".samerun"))
        ways: dict[str, Callable[[], object]] = {
            "plain": lambda: subprocess.run(command, cwd=folder, check=True),
            "tier steps": lambda: record(request, Plan(), at),
            "tier ops, first step": lambda: record(
                request, Plan(tier="ops", window=(-1, 0), values=True), at
            ),
        }
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for number in range(rounds + 1):
            for way, run in ways.items():
                start = time.perf_counter()
                run()
                if number:  # the first round fills the caches of files
                    seconds[way].append(time.perf_counter() - start)
    for way, took in seconds.items():
        ratios = [one / plain for one, plain in zip(took, seconds["plain"], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{way:22} {statistics.median(took):5.2f} s   {middle:.2f} × plain ({low:.2f} to {high:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
