"""samerun in ignite: `same = SameRun(model, optimizer, seed=0)`, then `same.attach(trainer)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from samerun.integrations.framework_needed import need_framework

with need_framework("ignite", "pytorch-ignite"):
    from ignite.engine import Engine, Events

from samerun.data.loader import DataLoader
from samerun.errors import UsageError
from samerun.integrations import training_state
from samerun.integrations.training_state import Position


class SameRun:
    """Seeds and controls, keeps the digest of each iteration as a metric, and makes a resume exact.

    With a seed, `samerun.seed_everything(seed, mode=mode)` is called at once; seed before the model is made.
    The digest is in `trainer.state.metrics` after each iteration, where ignite's loggers find it
    (`metric_names="all"`). Give this object to `Checkpoint` beside the trainer, with the key "samerun", and
    attach it before it: it keeps the generators and the loader's position of every rank.

    A resume that cannot be exact is a StateError as the trainer starts.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        seed: int | None = None,
        *,
        mode: str = "strict",
    ) -> None:
        training_state.seed_from_here(seed, mode)
        self._model = model
        self._optimizer = optimizer
        self._trainer: Engine | None = None
        self._loaded: Any = None
        self._generators: Mapping[str, Any] | None = None

    def attach(self, trainer: Engine) -> None:
        """Follow this trainer."""
        self._trainer = trainer
        trainer.add_event_handler(Events.STARTED, self._restore)
        trainer.add_event_handler(Events.ITERATION_STARTED, self._restore_generators)
        trainer.add_event_handler(Events.ITERATION_COMPLETED, self._measure)

    def state_dict(self) -> dict[str, Any]:
        """Called by `Checkpoint`, on every rank."""
        loader = self._find_loader()
        # ignite's epochs may be shorter than the loader, which then goes on: its own position counts, always
        middle = isinstance(loader, DataLoader) or self._is_inside(loader)
        return training_state.capture_ranks([Position(loader, middle=middle)])

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Called by `Checkpoint.load_objects`; done when the trainer starts, and its loader is known."""
        self._loaded = saved

    def _find_loader(self) -> Any:
        if self._trainer is None:
            raise UsageError("attach(trainer) comes before the first checkpoint")
        return self._trainer.state.dataloader

    def _is_inside(self, loader: Any) -> bool:
        """Whether a pass over the loader is under way."""
        assert self._trainer is not None
        try:
            return bool(self._trainer.state.iteration % len(loader))
        except (TypeError, NotImplementedError, ZeroDivisionError):
            return True

    def _restore(self, trainer: Engine) -> None:
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loader = self._find_loader()
            generators = training_state.restore_rank(loaded, [loader])
            self._generators = generators if self._is_inside(loader) else None
        elif trainer.state.iteration:
            training_state.refuse_without_state("what this trainer resumes from")

    def _restore_generators(self, trainer: Engine) -> None:
        if self._generators is not None:
            training_state.restore_generators(self._generators)
            self._generators = None

    def _measure(self, trainer: Engine) -> None:
        trainer.state.metrics.update(training_state.digest_step([self._model], [self._optimizer]))
