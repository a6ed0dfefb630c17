"""One rank of a training whose samples are shared out by samerun."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist

from samerun.data import DataLoader, Sampler

from .work import BATCH, Augmented


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    data = Augmented()
    seen = {}
    for workers in (0, 2):
        loader = DataLoader(
            data, batch_size=BATCH, sampler=Sampler(data, seed=0), num_workers=workers, seed=0
        )
        seen[f"{workers} workers"] = list(loader)
    torch.save(seen, folder / f"rank{dist.get_rank()}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
