"""samerun in Lightning: `Trainer(callbacks=[SameRun(seed=0)])`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from samerun.integrations.framework_needed import need_framework

with need_framework("lightning", "lightning"):
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        from pytorch_lightning import Callback  # the same library under its older name
        from pytorch_lightning.utilities.combined_loader import CombinedLoader
    else:
        from lightning.pytorch import Callback
        from lightning.pytorch.utilities.combined_loader import CombinedLoader

from samerun.integrations import training_state


class SameRun(Callback):
    """Seeds and controls, logs the digest of steps, and makes a resume from Lightning's checkpoints exact.

    With a seed, `samerun.seed_everything(seed, mode=mode)` is called at once: make it before the model.
    Without one nothing is controlled. The digest goes to every logger as `samerun/digest`, `samerun/digest_2`
    and `samerun/digest_3`, every `log_every_n_steps` optimizer steps, from rank 0. Each checkpoint gets the
    generators and loaders' positions of every rank.

    A resume that cannot be exact is a StateError: from the middle of an epoch with a loader that is not
    samerun.data.DataLoader or that has no length, between two batches of one step, from a checkpoint that
    was made without this callback, on another number of ranks.
    """

    def __init__(self, seed: int | None = None, *, mode: str = "strict") -> None:
        training_state.seed_from_here(seed, mode)
        self._logged = 0  # the optimizer step that was seen last
        self._loaded: Any = None
        self._generators: Mapping[str, Any] | None = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Forget what an earlier call of this trainer loaded."""
        self._loaded = None

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Keep what the checkpoint holds until the loaders are there."""
        self._loaded = checkpoint.get(training_state.KEY)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Restore this rank."""
        self._logged = trainer.global_step
        loaded, self._loaded = self._loaded, None
        if loaded is None:
            if trainer.ckpt_path is not None:
                training_state.refuse_without_state(trainer.ckpt_path)
            return
        generators = training_state.restore_rank(loaded, _list_loaders(trainer))
        self._generators = generators if _is_inside_epoch(trainer) else None
        if self._generators is None:
            # Lightning has begun the pass already, with other generators: torch's loader has drawn its order
            iter(trainer.fit_loop._data_fetcher)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """In the middle of an epoch: what was drawn to come here again is no part of the training."""
        if self._generators is not None:
            training_state.restore_generators(self._generators)
            self._generators = None

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log the digest of the optimizer step that has just been made, if one was."""
        step = trainer.global_step
        if step == self._logged:
            return
        self._logged = step
        if step % trainer.log_every_n_steps or not trainer.loggers or not trainer.is_global_zero:
            return
        digest = training_state.digest_step([pl_module], trainer.optimizers)
        for logger in trainer.loggers:  # not self.log(), which makes float32 of it and may average
            logger.log_metrics(digest, step=step - 1)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: dict[str, Any]) -> None:
        """Keep the generators and the loaders' positions of every rank, in Lightning's own checkpoint."""
        if trainer.train_dataloader is None:
            return  # not a training: Trainer.validate() and the like
        middle, loaders = _is_inside_epoch(trainer), _list_loaders(trainer)
        checkpoint[training_state.KEY] = training_state.capture_ranks(
            [training_state.Position(loader, middle=middle) for loader in loaders],
            lost=_list_lost(trainer, loaders) if middle else (),
        )


def _list_loaders(trainer: Any) -> list[Any]:
    """Of the training, in Lightning's order, whatever they are nested in."""
    flattened: list[Any] = CombinedLoader(trainer.train_dataloader, "min_size").flattened
    return flattened


def _list_lost(trainer: Any, loaders: list[Any]) -> Iterator[str]:
    """What no checkpoint of the middle of an epoch has."""
    if trainer.fit_loop.epoch_loop.batch_progress.current.ready % trainer.accumulate_grad_batches:
        yield training_state.BETWEEN
    if not all(map(training_state.has_length, loaders)):
        yield (
            "it was saved in the middle of an epoch, and Lightning fetches a batch ahead of a loader without "
            "a length; give the dataset (or the sampler) a __len__, or resume one of the end of an epoch"
        )


def _is_inside_epoch(trainer: Any) -> bool:
    """Whether the training has had batches of this epoch, but not the last one."""
    progress = trainer.fit_loop.epoch_loop.batch_progress
    return bool(progress.current.ready > 0 and not progress.is_last_batch)
