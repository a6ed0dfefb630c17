"""python framework_trainings.py NAME FOLDER OPTIONS: a small training as users of a framework write it.

Trains with dropout on samples that draw from all three generators; goes on from the checkpoint in FOLDER that
is there. Prints the digest of the weights, and every digest that was logged, as JSON.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset

SIZE, BATCH, EPOCHS = 24, 4, 3
STEPS = EPOCHS * SIZE // BATCH
OPTIONS: dict[str, Any] = {
    "workers": 0,
    "kill_at": -1,  # before this step of this process
    "save": 0,  # every so many steps; 0: at the end of each epoch
    "samerun": None,  # a seed, or "log" to seed as the framework does and log only
    "loader": "torch",
    "length": True,  # whether the loader has one, with Lightning and transformers
    "accumulate": 1,  # batches whose gradients make a step, in Lightning and accelerate
    "flip": False,  # one bit of the weights
}
FOLDER = Path()
NAMES = ("samerun/digest", "samerun/digest_2", "samerun/digest_3")
done = 0


class Noisy(Dataset[Any]):
    def __len__(self) -> int:
        return SIZE

    def __getitem__(self, index: int) -> Any:
        return torch.full((4,), index / SIZE) + torch.rand(4) * random.random() + float(numpy.random.rand())


class Named(Noisy):
    def __getitem__(self, index: int) -> Any:
        return {"x": super().__getitem__(index)}


def count_step() -> None:
    global done
    if done == OPTIONS["kill_at"]:
        os._exit(9)
    done += 1


def build() -> nn.Sequential:
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 1))
    if OPTIONS["flip"]:
        with torch.no_grad():
            net[0].bias.view(torch.int32)[0] ^= 1
    return net


class Stream(IterableDataset[Any]):
    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __iter__(self) -> Any:
        return (self.dataset[index] for index in range(SIZE))


def loader(dataset: Any = None, **others: Any) -> Any:
    if not OPTIONS["length"]:
        from samerun.data import DataLoader

        return DataLoader(Stream(dataset or Noisy()), BATCH)
    if OPTIONS["loader"] == "samerun":
        from samerun.data import DataLoader
    else:
        from torch.utils.data import DataLoader
    return DataLoader(dataset or Noisy(), BATCH, shuffle=True, num_workers=OPTIONS["workers"], **others)


def seed_as_given() -> dict[str, Any] | None:
    """What SameRun is given; None: there is none. Seeds where it is not SameRun that does."""
    if OPTIONS["samerun"] in (None, "log"):
        random.seed(0)
        numpy.random.seed(0)
        torch.manual_seed(0)
        return None if OPTIONS["samerun"] is None else {}
    return {"seed": OPTIONS["samerun"]}


def lightning() -> tuple[nn.Module, list[Any]]:
    import lightning as L
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger

    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = build()

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            count_step()
            loss = self.net(batch).square().mean()
            self.log("loss", loss)
            return loss

        def validation_step(self, batch: Any, number: int) -> None:
            self.log("val_loss", self.net(batch).square().mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), 1e-2)

    class SavesBatches(L.Callback):
        """Where ModelCheckpoint saves by time, a checkpoint may come between two batches of a step."""

        def on_train_batch_end(
            self, trainer: Any, module: Any, outputs: Any, batch: Any, number: int
        ) -> None:
            if (number + 1) % OPTIONS["save"] == 0:
                trainer.save_checkpoint(FOLDER / "last.ckpt")

    given = seed_as_given()
    every = {"every_n_train_steps": OPTIONS["save"]} if OPTIONS["save"] else {"every_n_epochs": 1}
    callbacks: list[Any] = [ModelCheckpoint(FOLDER, save_last=True, save_top_k=-1, **every)]
    if OPTIONS["accumulate"] > 1:
        callbacks = [SavesBatches()]
    if given is not None:
        from samerun.integrations.lightning import SameRun

        callbacks.append(SameRun(**given))
    trainer = L.Trainer(
        max_epochs=EPOCHS,
        accelerator="cpu",
        callbacks=callbacks,
        logger=CSVLogger(FOLDER),
        log_every_n_steps=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        accumulate_grad_batches=OPTIONS["accumulate"],
    )
    model, last = Model(), FOLDER / "last.ckpt"
    validation = torch.utils.data.DataLoader(Noisy(), BATCH)
    trainer.fit(model, loader(), validation, ckpt_path=str(last) if last.exists() else None)
    import pandas

    frame = pandas.read_csv(Path(trainer.logger.log_dir) / "metrics.csv")
    logged = frame[list(NAMES)].dropna().astype(int).to_numpy().tolist() if NAMES[0] in frame else []
    return model, logged


def transformers() -> tuple[nn.Module, list[Any]]:
    from transformers import Trainer, TrainingArguments

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = build()

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            if self.training:
                count_step()
            return {"loss": self.net(x).square().mean()}

    class WithLoader(Trainer):
        def get_train_dataloader(self) -> Any:
            return loader(Named()) if OPTIONS["loader"] == "samerun" else super().get_train_dataloader()

    given = seed_as_given()
    callbacks: list[Any] = []
    if given is not None:
        from samerun.integrations.transformers import SameRun

        callbacks.append(SameRun(**given))
    saving = {"save_strategy": "steps", "save_steps": OPTIONS["save"]}
    arguments = TrainingArguments(
        str(FOLDER),
        num_train_epochs=EPOCHS,
        max_steps=-1 if OPTIONS["length"] else STEPS,
        per_device_train_batch_size=BATCH,
        dataloader_num_workers=OPTIONS["workers"],
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=1,
        seed=0,
        ignore_data_skip=OPTIONS["loader"] == "samerun",
        **(saving if OPTIONS["save"] else {"save_strategy": "epoch"}),
    )
    model = Model()
    trainer = Trainer(model, arguments, train_dataset=Named(), callbacks=callbacks)
    if OPTIONS["loader"] == "samerun":
        trainer.__class__ = WithLoader
    trainer.train(resume_from_checkpoint=any(FOLDER.glob("checkpoint-*")))
    logs = [log for log in trainer.state.log_history if NAMES[0] in log]
    return model, [[log[name] for name in NAMES] for log in logs]


def accelerate() -> tuple[nn.Module, list[Any]]:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=OPTIONS["accumulate"])
    given, same, logged = seed_as_given(), None, []
    if given and "seed" in given:
        import samerun

        samerun.seed_everything(given.pop("seed"))
    net, batches = build(), loader()
    if given is not None:
        from samerun.integrations.accelerate import SameRun

        same = SameRun(accelerator, loaders=[batches] if OPTIONS["loader"] == "samerun" else [])
    net, optimizer = accelerator.prepare(net, torch.optim.Adam(net.parameters(), 1e-2))
    if OPTIONS["loader"] == "torch":
        batches = accelerator.prepare(batches)
    first, kept = 0, FOLDER / "state"
    if kept.exists():
        accelerator.load_state(str(kept))
        first = json.loads((kept / "epoch").read_text())
    for epoch in range(batches.epoch if OPTIONS["loader"] == "samerun" else first, EPOCHS):
        batches.set_epoch(epoch)
        for number, batch in enumerate(batches):
            count_step()
            with accelerator.accumulate(net):
                accelerator.backward(net(batch).square().mean())
                optimizer.step()
                optimizer.zero_grad()
            if same is not None:
                logged.append([*same.digest().values()])
            if OPTIONS["save"] and (number + 1) % OPTIONS["save"] == 0:
                accelerator.save_state(str(kept))
                (kept / "epoch").write_text(str(epoch))
        if not OPTIONS["save"]:
            accelerator.save_state(str(kept))
            (kept / "epoch").write_text(str(epoch + 1))
    return net, logged


def ignite() -> tuple[nn.Module, list[Any]]:
    from ignite.engine import Engine, Events
    from ignite.handlers import Checkpoint, DiskSaver

    given, logged = seed_as_given(), []
    if given and "seed" in given:
        import samerun

        samerun.seed_everything(given.pop("seed"))
    net = build()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)

    def update(engine: Engine, batch: Any) -> float:
        count_step()
        loss = net(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    trainer = Engine(update)
    objects: dict[str, Any] = {"net": net, "optimizer": optimizer, "trainer": trainer}
    if given is not None:
        from samerun.integrations.ignite import SameRun

        same = SameRun(net, optimizer)
        same.attach(trainer)
        objects["samerun"] = same
    every = OPTIONS["save"]
    event = Events.ITERATION_COMPLETED(every=every) if every else Events.EPOCH_COMPLETED
    saver = DiskSaver(str(FOLDER), create_dir=True, require_empty=False)
    trainer.add_event_handler(event, Checkpoint(objects, saver, n_saved=None))
    trainer.add_event_handler(
        Events.ITERATION_COMPLETED,
        lambda: logged.append([trainer.state.metrics[name] for name in NAMES]) if given is not None else None,
    )
    saved = sorted(FOLDER.glob("*.pt"), key=lambda path: int(path.stem.rpartition("_")[2]))
    if saved:
        Checkpoint.load_objects(objects, torch.load(saved[-1], weights_only=True))
    trainer.run(loader(), max_epochs=EPOCHS)
    return net, logged


def skorch() -> tuple[nn.Module, list[Any]]:
    from skorch import NeuralNetRegressor
    from skorch.callbacks import Callback, Checkpoint, LoadInitState

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = build()

        def forward(self, X: torch.Tensor) -> torch.Tensor:
            if self.training:
                count_step()
            return self.net(X)

    class Labelled(Noisy):
        def __getitem__(self, index: int) -> Any:
            return super().__getitem__(index), torch.zeros(1)

    class Stop(Callback):
        def on_epoch_end(self, net: Any, **others: Any) -> None:
            if len(net.history) >= EPOCHS:
                raise KeyboardInterrupt

    given, callbacks = seed_as_given(), []
    files: dict[str, Any] = {}
    if given is not None:
        from samerun.integrations.skorch import SameRun

        callbacks.append(("samerun", SameRun(**given)))
        files["f_samerun"] = "samerun.pt"
    checkpoint = Checkpoint(monitor=None, dirname=str(FOLDER), f_criterion=None, **files)
    callbacks += [("resume", LoadInitState(checkpoint)), ("checkpoint", checkpoint), ("stop", Stop())]
    net = NeuralNetRegressor(
        Net,
        optimizer=torch.optim.Adam,
        lr=1e-2,
        batch_size=BATCH,
        iterator_train__shuffle=True,
        iterator_train__num_workers=OPTIONS["workers"],
        train_split=None,
        max_epochs=EPOCHS,
        callbacks=callbacks,
        verbose=0,
    )
    net.fit(Labelled(), None)
    rows = [row for row in net.history if NAMES[0] in row] if given is not None else []
    return net.module_, [[batch[name] for name in NAMES] for row in rows for batch in row["batches"]]


def _mmengine(loop: dict[str, Any], sampler: str) -> tuple[nn.Module, list[Any]]:
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoints hold objects of its own

    class Model(BaseModel):
        def __init__(self) -> None:
            super().__init__()
            self.net = build()

        def forward(self, x: Any, mode: str) -> dict[str, torch.Tensor]:
            count_step()
            return {"loss": self.net(x).square().mean()}

    given, hooks = seed_as_given(), []
    if given is not None:
        from samerun.integrations.mmengine import SameRun

        hooks.append(SameRun(**given, interval=1))
    by_epoch = bool(loop["by_epoch"]) and not OPTIONS["save"]
    batches: Any = {
        "batch_size": BATCH,
        "num_workers": OPTIONS["workers"],
        "dataset": Named(),
        "sampler": {"type": sampler, "shuffle": True},
        "collate_fn": {"type": "default_collate"},
    }
    model = Model()
    Runner(
        model,
        str(FOLDER),
        train_dataloader=loader(Named()) if OPTIONS["loader"] == "samerun" else batches,
        train_cfg=loop,
        optim_wrapper={"optimizer": {"type": "Adam", "lr": 1e-2}},
        default_hooks={
            "checkpoint": {"type": "CheckpointHook", "interval": OPTIONS["save"] or 1, "by_epoch": by_epoch}
        },
        custom_hooks=hooks,
        log_level="ERROR",
        randomness={"seed": 0},
        resume=True,
    ).train()
    logged = []
    for path in sorted(FOLDER.glob("*/vis_data/scalars.json")):
        for line in path.read_text().splitlines():
            logged.append(json.loads(line))
    found = [[row[name] for row in logged if name in row] for name in NAMES]
    return model, [list(each) for each in zip(*found, strict=True)]


def mmengine_epochs() -> tuple[nn.Module, list[Any]]:
    return _mmengine({"by_epoch": True, "max_epochs": EPOCHS}, "DefaultSampler")


def mmengine_iterations() -> tuple[nn.Module, list[Any]]:
    return _mmengine({"by_epoch": False, "max_iters": STEPS, "val_interval": 10**6}, "InfiniteSampler")


TRAININGS: dict[str, tuple[str, Callable[[], tuple[nn.Module, list[Any]]]]] = {
    "lightning": ("lightning", lightning),
    "transformers": ("transformers", transformers),
    "accelerate": ("accelerate", accelerate),
    "ignite": ("ignite", ignite),
    "skorch": ("skorch", skorch),
    "mmengine_epochs": ("mmengine", mmengine_epochs),
    "mmengine_iterations": ("mmengine", mmengine_iterations),
}


def main() -> None:
    global FOLDER
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.path.insert(0, str(Path(__file__).parent.parent / "fidelity"))
    from frameworks import without_operators_of_torchvision

    without_operators_of_torchvision()
    FOLDER = Path(sys.argv[2])
    OPTIONS.update(json.loads(sys.argv[3]))
    model, logged = TRAININGS[sys.argv[1]][1]()
    from samerun.digest import digest_value

    weights = digest_value([each.detach() for each in model.parameters()]).hex()
    print("TRAINED", json.dumps({"weights": weights, "digests": logged}))


if __name__ == "__main__":
    main()
