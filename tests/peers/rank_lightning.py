"""One rank of a Lightning training with its defaults: seed_everything(0), and a plain DataLoader."""

from __future__ import annotations

import sys
from pathlib import Path

import lightning
import torch
from torch.utils.data import DataLoader

from .work import BATCH, Augmented, Net


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = Net()
        self.batches: list[torch.Tensor] = []

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        self.batches.append(batch.clone())
        return self.net(batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main(folder: Path) -> None:
    seen = {}
    for workers in (0, 2):
        lightning.seed_everything(0)
        module = Module()
        trainer = lightning.Trainer(
            max_epochs=1,
            strategy="ddp",
            accelerator="cpu",
            devices=2,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
        )
        trainer.fit(module, DataLoader(Augmented(), batch_size=BATCH, shuffle=True, num_workers=workers))
        seen[f"{workers} workers"] = module.batches
    torch.save(seen, folder / f"rank{trainer.global_rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
