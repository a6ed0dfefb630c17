"""Starts the ranks of a script as processes of their own, on loopback, as torchrun would."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

TIMEOUT = 90  # seconds for all ranks together


def run_ranks(script: str, folder: Path, world: int = 2) -> list[Any]:
    """Run a script on `world` ranks; what each hands to `say(value)`, by rank.

    The script has `rank`, `world` and `say`; no process group is made for it.
    """
    path = folder / "ranks.py"
    path.write_text(HEAD + textwrap.dedent(script))
    common = {
        **os.environ,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "OMP_NUM_THREADS": "1",
    }
    started = [
        subprocess.Popen(
            [sys.executable, str(path)],
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        outputs = [process.communicate(timeout=TIMEOUT) for process in started]
    finally:
        for process in started:
            process.kill()
    for process, (out, err) in zip(started, outputs, strict=True):
        assert process.returncode == 0, out + err
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


HEAD = """\
import json, os
import torch
import torch.distributed as dist
from samerun.errors import SamerunError
from samerun.ranks import check_agree, rank_stream, sync_seed
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
def say(value): print(json.dumps(value), flush=True)
def error(call, *args):
    try: call(*args)
    except SamerunError as e: return f"{type(e).__name__}: {e}"
"""
