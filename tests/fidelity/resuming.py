"""python resuming.py NAME WORKERS KILL_AT: train with a framework that writes checkpoints, and resumes.

Goes on from the checkpoint that is there. Each step appends what it trained on to steps.jsonl; before step
KILL_AT (counted in this process; -1: never) the process ends as by a kill.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

if __name__ == "__main__":
    from frameworks import without_operators_of_torchvision

SIZE, BATCH, EPOCHS = 8, 2, 4
STEPS = EPOCHS * SIZE // BATCH
KEPT = Path("kept")
done = 0
kill_at = -1


class Images(Dataset[Any]):
    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return {"index": index, "drawn": torch.rand(()).item()}


def step(linear: torch.nn.Module, index: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """Note what is trained on; returns the loss."""
    global done
    if done == kill_at:
        os._exit(9)
    done += 1
    with open("steps.jsonl", "a") as file:
        file.write(json.dumps([index.tolist(), drawn.tolist()]) + "\n")
    loss: torch.Tensor = linear(drawn.float()[:, None]).square().mean()
    return loss


def loader(workers: int) -> DataLoader[Any]:
    return DataLoader(Images(), BATCH, shuffle=True, num_workers=workers)


def accelerate(workers: int) -> None:
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    set_seed(0)
    accelerator = Accelerator(cpu=True)
    linear = torch.nn.Linear(1, 1)
    linear, optimizer, batches = accelerator.prepare(
        linear, torch.optim.SGD(linear.parameters(), 0.01), loader(workers)
    )
    first = 0
    if KEPT.exists():
        first = int((KEPT / "epoch").read_text())
        accelerator.load_state(str(KEPT))
    for epoch in range(first, EPOCHS):
        batches.set_epoch(epoch)
        for batch in batches:
            accelerator.backward(step(linear, **batch))
            optimizer.step()
            optimizer.zero_grad()
        accelerator.save_state(str(KEPT))
        (KEPT / "epoch").write_text(str(epoch + 1))


def _transformers(workers: int, **saving: Any) -> None:
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, index: torch.Tensor, drawn: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": step(self.linear, index, drawn)}

    arguments = TrainingArguments(
        str(KEPT),
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=BATCH,
        dataloader_num_workers=workers,
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=0,
        **saving,
    )
    resume = KEPT.exists() and any(KEPT.glob("checkpoint-*"))
    Trainer(Model(), arguments, train_dataset=Images()).train(resume_from_checkpoint=resume)


def transformers_epochs(workers: int) -> None:
    _transformers(workers, save_strategy="epoch")


def transformers_steps(workers: int) -> None:
    _transformers(workers, save_strategy="steps", save_steps=3)


def lightning(workers: int) -> None:
    import lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            return step(self.linear, **batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.01)

    lightning.seed_everything(0, workers=True, verbose=False)
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        enable_model_summary=False,
        enable_progress_bar=False,
        logger=False,
        callbacks=[ModelCheckpoint(str(KEPT), save_last=True, every_n_epochs=1, save_top_k=-1)],
    )
    last = KEPT / "last.ckpt"
    trainer.fit(Model(), loader(workers), ckpt_path=str(last) if last.exists() else None)


def _mmengine(workers: int, loop: dict[str, Any], saving: dict[str, Any], sampler: str) -> None:
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoints hold objects of its own

    class Model(BaseModel):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, index: Any, drawn: Any, mode: str) -> dict[str, torch.Tensor]:
            return {"loss": step(self.linear, index, drawn)}

    Runner(
        Model(),
        str(KEPT),
        train_dataloader={
            "batch_size": BATCH,
            "num_workers": workers,
            "dataset": Images(),
            "sampler": {"type": sampler, "shuffle": True},
            "collate_fn": {"type": "default_collate"},
        },
        train_cfg=loop,
        optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.01}},
        default_hooks={
            "checkpoint": {
                "type": "CheckpointHook",
                "interval": 1 if loop["by_epoch"] else 4,
                "by_epoch": loop["by_epoch"],
            }
        },
        log_level="ERROR",
        randomness={"seed": 0},
        resume=True,
    ).train()


def mmengine_epochs(workers: int) -> None:
    loop = {"by_epoch": True, "max_epochs": EPOCHS}
    _mmengine(workers, loop, {"by_epoch": True, "interval": 1}, "DefaultSampler")


def mmengine_iterations(workers: int) -> None:
    loop = {"by_epoch": False, "max_iters": STEPS, "val_interval": 10**6}
    _mmengine(workers, loop, {"by_epoch": False, "interval": 4}, "InfiniteSampler")


TRAININGS: dict[str, tuple[str, Callable[[int], None]]] = {
    "accelerate": ("accelerate", accelerate),
    "transformers_epochs": ("transformers", transformers_epochs),
    "transformers_steps": ("transformers", transformers_steps),
    "lightning": ("lightning", lightning),
    "mmengine_epochs": ("mmengine", mmengine_epochs),
    "mmengine_iterations": ("mmengine", mmengine_iterations),
}


def main() -> None:
    global kill_at
    warnings.simplefilter("ignore")
    without_operators_of_torchvision()
    kill_at = int(sys.argv[3])
    TRAININGS[sys.argv[1]][1](int(sys.argv[2]))


if __name__ == "__main__":
    main()
