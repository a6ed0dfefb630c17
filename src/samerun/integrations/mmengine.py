"""samerun in MMEngine: `Runner(…, custom_hooks=[SameRun(seed=0)])`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samerun.integrations.framework_needed import need_framework

with need_framework("mmengine", "mmengine"):
    from mmengine.hooks import Hook
    from mmengine.runner import IterBasedTrainLoop

from samerun import ranks
from samerun.data.loader import DataLoader
from samerun.integrations import training_state
from samerun.sources.per_sample.dataloaders import seed_in_force


class SameRun(Hook):
    """Seeds and controls, gives the digest of steps to the visualizer, and makes a resume exact.

    With a seed, `samerun.seed_everything(seed, mode=mode)` is called at once: make it before the model. (The
    Runner seeds again, with `randomness=dict(seed=…)`.) The digest goes to all backends of the visualizer
    every `interval` iterations. Each checkpoint gets the generators.

    A resume that cannot be exact is a StateError: on several ranks (MMEngine saves on one alone), in the
    middle of an epoch of an EpochBasedTrainLoop, which begins it anew, and where IterBasedTrainLoop, which
    loads all batches again to get to its place, would draw other samples.
    """

    priority = "VERY_HIGH"  # before CheckpointHook, which asks when an epoch is over

    def __init__(self, seed: int | None = None, *, mode: str = "strict", interval: int = 10) -> None:
        training_state.seed_from_here(seed, mode)
        self._interval = interval
        self._inside = False  # an epoch
        self._generators: Mapping[str, Any] | None = None
        self._loaded: Any = None

    def before_save_checkpoint(self, runner: Any, checkpoint: dict[str, Any]) -> None:
        """Keep the generators in MMEngine's own checkpoint."""
        loader = runner.train_loop.dataloader
        lost = _explain_lost(runner, loader, self._inside)
        if ranks.world_size() > 1:
            # this is called on one rank alone, which cannot ask the others
            lost.append(f"MMEngine saves on one of {ranks.world_size()} ranks, so the others' are not there")
        positions = [] if _is_by_iteration(runner) else [training_state.Position(loader)]
        checkpoint[training_state.KEY] = training_state.capture_alone(positions, lost=lost)

    def after_load_checkpoint(self, runner: Any, checkpoint: dict[str, Any]) -> None:
        """Keep what the checkpoint holds until the training begins."""
        if getattr(runner, "_resume", False):
            if training_state.KEY not in checkpoint:
                training_state.refuse_without_state("the checkpoint that is resumed")
            self._loaded = checkpoint[training_state.KEY]

    def before_train_epoch(self, runner: Any) -> None:
        """Restore, before the loader begins its pass."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            by_iteration = _is_by_iteration(runner)
            loaders = [] if by_iteration else [runner.train_loop.dataloader]
            generators = training_state.restore_rank(loaded, loaders)
            self._generators = generators if by_iteration else None

    def before_train_iter(self, runner: Any, batch_idx: int, data_batch: Any = None) -> None:
        """After the batches that IterBasedTrainLoop loaded again: what these drew does not count."""
        self._inside = True
        if self._generators is not None:
            training_state.restore_generators(self._generators)
            self._generators = None

    def after_train_iter(
        self, runner: Any, batch_idx: int, data_batch: Any = None, outputs: Any = None
    ) -> None:
        """Give the digest of the iteration to the visualizer."""
        if not self.every_n_train_iters(runner, self._interval) or ranks.rank():
            return
        wrappers = runner.optim_wrapper
        several = wrappers.values() if hasattr(wrappers, "optim_wrappers") else [wrappers]
        digest = training_state.digest_step([runner.model], [each.optimizer for each in several])
        runner.visualizer.add_scalars(digest, step=runner.iter)

    def after_train_epoch(self, runner: Any) -> None:
        """From here on a checkpoint is of the end of an epoch."""
        self._inside = False


def _is_by_iteration(runner: Any) -> bool:
    return isinstance(runner.train_loop, IterBasedTrainLoop)


def _explain_lost(runner: Any, loader: Any, inside: bool) -> list[str]:
    """What cannot be gone on from, in words."""
    if not _is_by_iteration(runner):
        return ["it was saved inside an epoch, which EpochBasedTrainLoop begins anew"] if inside else []
    if isinstance(loader, DataLoader) or loader.num_workers or seed_in_force() is not None:
        return []
    return [
        "IterBasedTrainLoop loads all batches again, and without workers their samples would draw other "
        "numbers; give SameRun a seed, or use samerun.data.DataLoader"
    ]
