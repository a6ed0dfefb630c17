"""The same script on two ranks, as torchrun starts them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

TESTS = Path(__file__).parents[1]


def on_two_ranks(module: str, folder: Path) -> tuple[Any, Any]:
    """Run a module on two processes, and return what each has left in `folder/rank<r>.pt`."""
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        module,
    ]
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*command, str(folder)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    zero, one = (torch.load(folder / f"rank{rank}.pt", weights_only=True) for rank in range(2))
    return zero, one
