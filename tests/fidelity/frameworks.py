"""python frameworks.py NAME WORKERS: three passes over data that draw, by the classes of a framework.

Prints what was drawn for each of the samples, as JSON: {index: [draw, …]}.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, WeightedRandomSampler

SIZE, PASSES = 4, 3
Batches = Iterable[tuple[torch.Tensor, torch.Tensor]]


class Images(Dataset[Any]):
    """A sample: its index, and its augmentation."""

    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> tuple[int, float]:
        return index, torch.rand(()).item()


class Named(Images):
    """The same as a dictionary."""

    def __getitem__(self, index: int) -> Any:
        index, drawn = super().__getitem__(index)
        return {"index": index, "drawn": drawn}


def again(loader: Iterable[Any]) -> Iterator[Any]:
    for _ in range(PASSES):
        yield from loader


def stock(workers: int) -> Batches:
    return again(DataLoader(Images(), 2, shuffle=True, num_workers=workers))


def persistent(workers: int) -> Batches:
    return again(DataLoader(Images(), 2, shuffle=True, num_workers=workers, persistent_workers=workers > 0))


def weighted(workers: int) -> Batches:
    return DataLoader(Images(), 2, sampler=WeightedRandomSampler([1.0] * SIZE, 40), num_workers=workers)


def distributed(workers: int) -> Batches:
    sampler = DistributedSampler(Images(), 1, 0)
    loader = DataLoader(Images(), 2, sampler=sampler, num_workers=workers)
    for epoch in range(PASSES):
        sampler.set_epoch(epoch)
        yield from loader


def torchdata_stateful(workers: int) -> Batches:
    from torchdata.stateful_dataloader import StatefulDataLoader

    return again(StatefulDataLoader(Images(), 2, shuffle=True, num_workers=workers))


def mmengine_infinite_sampler(workers: int) -> Batches:
    from mmengine.dataset import InfiniteSampler

    return DataLoader(Images(), 2, sampler=InfiniteSampler(Images(), seed=0), num_workers=workers)


def mmengine_default_sampler(workers: int) -> Batches:
    from mmengine.dataset import DefaultSampler

    sampler = DefaultSampler(Images(), seed=0)
    loader = DataLoader(Images(), 2, sampler=sampler, num_workers=workers)
    for epoch in range(PASSES):
        sampler.set_epoch(epoch)
        yield from loader


def _mmengine(workers: int, loop: dict[str, Any], sampler: str) -> Batches:
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    seen: list[Any] = []

    class Model(BaseModel):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, index: Any, drawn: Any, mode: str) -> dict[str, torch.Tensor]:
            seen.append((index.cpu(), drawn.cpu()))
            return {"loss": self.linear(drawn.float()[:, None]).square().mean()}

    loader = {
        "batch_size": 2,
        "num_workers": workers,
        "dataset": Named(),
        "sampler": {"type": sampler, "shuffle": True},
        "collate_fn": {"type": "default_collate"},
    }
    runner = Runner(
        Model(),
        tempfile.mkdtemp(),
        train_dataloader=loader,
        train_cfg=loop,
        optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.01}},
        default_hooks={"checkpoint": None},
        log_level="ERROR",
        randomness={"seed": 0},
    )
    runner.train()
    return seen


def mmengine_epochs(workers: int) -> Batches:
    return _mmengine(workers, {"by_epoch": True, "max_epochs": PASSES}, "DefaultSampler")


def mmengine_iterations(workers: int) -> Batches:
    loop = {"by_epoch": False, "max_iters": PASSES * SIZE // 2, "val_interval": 10**6}
    return _mmengine(workers, loop, "InfiniteSampler")


def ultralytics_infinite(workers: int) -> Batches:
    from ultralytics.data.build import InfiniteDataLoader

    return again(InfiniteDataLoader(Images(), batch_size=2, shuffle=True, num_workers=workers))


def timm_multi_epochs(workers: int) -> Batches:
    from timm.data.loader import MultiEpochsDataLoader

    return again(MultiEpochsDataLoader(Images(), batch_size=2, shuffle=True, num_workers=workers))


def timm_repeated_augmentation(workers: int) -> Batches:
    from timm.data.distributed_sampler import RepeatAugSampler

    sampler = RepeatAugSampler(Images(), 1, 0, num_repeats=3, selected_round=0, selected_ratio=1)
    sampler.num_selected_samples = PASSES * SIZE  # all of a small data set
    loader = DataLoader(Images(), 2, sampler=sampler, num_workers=workers)
    for epoch in range(PASSES):
        sampler.set_epoch(epoch)
        yield from loader


def lightning_trainer(workers: int) -> Batches:
    import lightning

    seen: list[Any] = []

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            seen.append(batch)
            return self.linear(batch[1].float()[:, None]).square().mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.01)

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(max_epochs=PASSES, accelerator="cpu", enable_model_summary=False, **quiet)
    trainer.fit(Model(), DataLoader(Images(), 2, shuffle=True, num_workers=workers))
    return seen


def lightning_fabric(workers: int) -> Batches:
    from lightning.fabric import Fabric

    loader = DataLoader(Images(), 2, shuffle=True, num_workers=workers)
    return again(Fabric(accelerator="cpu").setup_dataloaders(loader))


def accelerate_prepare(workers: int) -> Batches:
    from accelerate import Accelerator

    loader = DataLoader(Images(), 2, shuffle=True, num_workers=workers)
    return again(Accelerator(cpu=True).prepare(loader))


def transformers_trainer(workers: int) -> Batches:
    from transformers import Trainer, TrainingArguments

    seen: list[Any] = []

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, index: torch.Tensor, drawn: torch.Tensor) -> dict[str, torch.Tensor]:
            seen.append((index, drawn))
            return {"loss": self.linear(drawn.float()[:, None]).square().mean()}

    arguments = TrainingArguments(
        tempfile.mkdtemp(),
        num_train_epochs=PASSES,
        per_device_train_batch_size=2,
        dataloader_num_workers=workers,
        remove_unused_columns=False,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    Trainer(Model(), arguments, train_dataset=Named()).train()
    return seen


MAKERS: dict[str, tuple[str, Callable[[int], Batches]]] = {
    make.__name__: (package, make)
    for package, makers in {
        "torch": [stock, persistent, weighted, distributed],
        "torchdata": [torchdata_stateful],
        "mmengine": [
            mmengine_infinite_sampler,
            mmengine_default_sampler,
            mmengine_epochs,
            mmengine_iterations,
        ],
        "ultralytics": [ultralytics_infinite],
        "timm": [timm_multi_epochs, timm_repeated_augmentation],
        "lightning": [lightning_trainer, lightning_fabric],
        "accelerate": [accelerate_prepare],
        "transformers": [transformers_trainer],
    }.items()
    for make in makers
}


def without_operators_of_torchvision() -> None:
    """torchvision from PyPI is built for CUDA; beside torch's CPU build its own operators are not there."""
    try:
        importlib.import_module("torchvision")
    except ImportError:
        return
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        KEPT.append(library)


KEPT: list[Any] = []


def main() -> None:
    warnings.simplefilter("ignore")
    without_operators_of_torchvision()
    torch.manual_seed(0)
    seen: dict[int, list[float]] = {}
    for indices, draws in MAKERS[sys.argv[1]][1](int(sys.argv[2])):
        for index, drawn in zip(indices.tolist(), draws.tolist(), strict=True):
            seen.setdefault(index, []).append(drawn)
        if min(map(len, seen.values())) >= PASSES and len(seen) == SIZE:
            break
    print("DRAWN", json.dumps({index: draws[:PASSES] for index, draws in sorted(seen.items())}))


if __name__ == "__main__":
    main()
