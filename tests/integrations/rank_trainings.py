"""torchrun --nproc-per-node 2 rank_trainings.py NAME FOLDER KILL_AT: two ranks that save every 4 steps.

Each rank has generators of its own. Goes on from the checkpoint in FOLDER; before step KILL_AT of this
process it ends as by a kill. Each rank writes its weights' digest and its next draws to FOLDER/rank<R>.json.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from framework_trainings import BATCH, EPOCHS, Noisy, build

import samerun
from samerun.data import DataLoader, Sampler

done = 0


def count_step() -> None:
    global done
    if done == int(sys.argv[3]):
        os._exit(9)
    done += 1


def make_loader() -> DataLoader:
    torch.rand(int(os.environ["RANK"]) + 1)  # from here on each rank's generator is its own
    sampler = Sampler(Noisy(), uneven="drop")
    return DataLoader(Noisy(), BATCH // 2, sampler=sampler, num_workers=1)


def accelerate(folder: Path) -> torch.nn.Module:
    from accelerate import Accelerator

    from samerun.integrations.accelerate import SameRun

    accelerator = Accelerator(cpu=True)
    samerun.seed_everything(0)
    loader = make_loader()
    same = SameRun(accelerator, loaders=[loader])
    net = build()
    net, optimizer = accelerator.prepare(net, torch.optim.Adam(net.parameters(), 1e-2))
    if (folder / "last").exists():
        accelerator.load_state(str(folder / "last"))
    for _ in range(loader.epoch, EPOCHS):
        for batch in loader:
            count_step()
            accelerator.backward(net(batch).square().mean())
            optimizer.step()
            optimizer.zero_grad()
            if done % 4 == 0:
                accelerator.save_state(str(folder / "last"))
    assert len(same.digest()) == 3
    return net


def lightning(folder: Path) -> torch.nn.Module:
    import lightning as L
    from lightning.pytorch.callbacks import ModelCheckpoint

    from samerun.integrations.lightning import SameRun

    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = build()

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            count_step()
            return self.net(batch).square().mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 1e-2)

    same, last = SameRun(seed=0), folder / "last.ckpt"
    model, loader = Model(), make_loader()
    trainer = L.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        devices=2,
        strategy="ddp",
        use_distributed_sampler=False,
        logger=False,
        callbacks=[same, ModelCheckpoint(folder, save_last=True, every_n_train_steps=4, save_top_k=-1)],
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader, ckpt_path=str(last) if last.exists() else None)
    return model


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.path.insert(0, str(Path(__file__).parent.parent / "fidelity"))
    from frameworks import without_operators_of_torchvision

    without_operators_of_torchvision()
    folder = Path(sys.argv[2])
    model = {"accelerate": accelerate, "lightning": lightning}[sys.argv[1]](folder)
    weights = samerun.digest_value([each.detach() for each in model.parameters()]).hex()
    drawn = [random.random(), torch.rand(()).item()]
    (folder / f"rank{os.environ['RANK']}.json").write_text(json.dumps([weights, drawn]))


if __name__ == "__main__":
    main()
