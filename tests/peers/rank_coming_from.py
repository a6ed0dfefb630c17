"""One rank of the lines of docs/coming-from.md for those who come from MMDetection."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from pages import Training, block


def main(folder: Path) -> None:
    dist.init_process_group("gloo")
    training = Training()
    model, optimizer = training.build()
    seed = training.run(block("MMDetection, MMEngine 2"), model=model, optimizer=optimizer)["seed"]
    torch.save({"seed": seed, "batches": training.batches}, folder / f"rank{dist.get_rank()}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
