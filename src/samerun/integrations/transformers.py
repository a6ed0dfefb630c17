"""samerun in transformers' Trainer: `Trainer(callbacks=[SameRun(seed=0)])`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from samerun.integrations.framework_needed import need_framework

with need_framework("transformers", "transformers"):
    from transformers import TrainerCallback
    from transformers.trainer_callback import ExportableState

from samerun.data.loader import DataLoader
from samerun.errors import StateError
from samerun.integrations import training_state

_FILE = "samerun.pt"
_WITHOUT_LENGTH = (
    "the Trainer does not know where an epoch of a loader without a length ends; give the dataset a __len__"
)


class SameRun(TrainerCallback, ExportableState):
    """Seeds and controls, logs the digest of steps, and makes a resume from the Trainer's checkpoints exact.

    With a seed, `samerun.seed_everything(seed, mode=mode)` is called at once: make it before the model. (The
    Trainer seeds again, with `TrainingArguments(seed=…)`.) The digest is in each training log of
    `trainer_state.json`; `attach(trainer)` puts this callback before those of report_to, so that they have
    it too. Each checkpoint folder gets samerun.pt, with the generators and the loader's position of every
    rank.

    A resume that cannot be exact is a StateError: from the middle of an epoch with a loader that is not
    samerun.data.DataLoader, with one that has no length, or from a checkpoint without samerun.pt.
    """

    def __init__(self, seed: int | None = None, *, mode: str = "strict") -> None:
        training_state.seed_from_here(seed, mode)
        self._token = ""
        self._waiting: Any = None
        self._generators: Mapping[str, Any] | None = None

    def attach(self, trainer: Any) -> None:
        """Follow this trainer, before its other callbacks."""
        callbacks = trainer.callback_handler.callbacks
        if self in callbacks:
            callbacks.remove(self)
        callbacks.insert(0, self)

    def state(self) -> dict[str, Any]:
        """For trainer_state.json: by it samerun.pt is known to be of the same checkpoint."""
        self._token = secrets.token_hex(16)
        return {"args": {}, "attributes": {"token": self._token}}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Read what the checkpoint has, when the training is resumed."""
        self._waiting = self._generators = None
        if state.global_step:
            self._waiting = _read(args, state)
            _check_settings(args, self._waiting["middle"], kwargs["train_dataloader"])

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Restore this rank, before the loader begins."""
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            generators = training_state.restore_rank(waiting["ranks"], [kwargs["train_dataloader"]])
            self._generators = generators if waiting["middle"] else None

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """In the middle of an epoch: what was drawn to come here again is no part of the training."""
        if self._generators is not None:
            training_state.restore_generators(self._generators)
            self._generators = None

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Put the digest into a log of the training."""
        if not state.is_world_process_zero or logs is None or "loss" not in logs:
            return
        digest = training_state.digest_step([kwargs["model"]], [kwargs["optimizer"]])
        logs.update(digest)
        state.log_history[-1].update(digest)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write samerun.pt beside what the Trainer has just written; every rank takes part."""
        loader = kwargs["train_dataloader"]
        middle = _is_inside_epoch(args, state, loader)
        kept = {
            "token": self._token,
            "middle": middle,
            "ranks": training_state.capture_ranks(
                [training_state.Position(loader, middle=middle)],
                lost=[] if training_state.has_length(loader) else [_WITHOUT_LENGTH],
            ),
        }
        folder = _find_folder(args, state)
        if state.is_world_process_zero and folder.is_dir():
            temporary = folder / f".{_FILE}.tmp"
            torch.save(kept, temporary)
            os.replace(temporary, folder / _FILE)


def _is_inside_epoch(args: Any, state: Any, loader: Any) -> bool:
    """Whether steps of this epoch are left, as the Trainer counts them; it counts none without a length."""
    if not training_state.has_length(loader):
        return True
    updates = -(-len(loader) // args.gradient_accumulation_steps)
    return bool(state.global_step % max(updates, 1))


def _find_folder(args: Any, state: Any) -> Path:
    return Path(args.output_dir) / f"checkpoint-{state.global_step}"


def _read(args: Any, state: Any) -> Any:
    given = args.resume_from_checkpoint
    path = (
        Path(given) if isinstance(given, str) and Path(given).is_dir() else _find_folder(args, state)
    ) / _FILE
    exported = (state.stateful_callbacks or {}).get(SameRun.__name__)
    if not isinstance(exported, Mapping):
        training_state.refuse_without_state(f"the checkpoint of step {state.global_step}")
    try:
        kept = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise StateError(
            f"there is no {path}. A callback does not learn from where it resumes: resume from output_dir, "
            "or set TrainingArguments(resume_from_checkpoint=…) to the checkpoint's folder too"
        ) from None
    if kept.get("token") != exported["attributes"]["token"]:
        raise StateError(
            f"{path} is of another checkpoint than the one that is resumed; set "
            "TrainingArguments(resume_from_checkpoint=…) to the folder that is resumed"
        )
    return kept


def _check_settings(args: Any, middle: bool, loader: Any) -> None:
    """Raise StateError where the Trainer would not go on with the position of a samerun.data.DataLoader."""
    if not middle or not isinstance(loader, DataLoader):
        return
    if not args.ignore_data_skip:
        raise StateError(
            "samerun.data.DataLoader goes on by itself in the middle of an epoch, and the Trainer would skip "
            "batches once more; set TrainingArguments(ignore_data_skip=True)"
        )
    if args.gradient_accumulation_steps > 1 and len(loader) % args.gradient_accumulation_steps:
        raise StateError(
            f"the last step of an epoch accumulates fewer batches ({len(loader)} batches, "
            f"gradient_accumulation_steps={args.gradient_accumulation_steps}), which the Trainer does not "
            "know of with ignore_data_skip=True; resume a checkpoint of the end of an epoch"
        )
