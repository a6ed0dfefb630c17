"""samerun with accelerate: `same = SameRun(accelerator, seed=0)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samerun.integrations.framework_needed import need_framework

with need_framework("accelerate", "accelerate"):
    from accelerate import Accelerator

from samerun.data.loader import DataLoader
from samerun.errors import UsageError
from samerun.integrations import training_state
from samerun.integrations.training_state import Position


class SameRun:
    """Seeds and controls, gives the digest of a step, and makes `load_state()` exact.

    With a seed, `samerun.seed_everything(seed, mode=mode)` is called at once: make it before the model. It
    registers itself for checkpointing: `save_state()` and `load_state()` keep the generators of every rank
    and the positions of `loaders`, which are samerun.data.DataLoader and not given to `prepare()`.

    `load_state()` raises StateError where going on cannot be exact: what was saved in the middle of a pass
    over a prepared loader, which has no position, between two batches of one step, or on another number of
    ranks.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        seed: int | None = None,
        *,
        loaders: Sequence[DataLoader] = (),
        mode: str = "strict",
    ) -> None:
        for loader in loaders:
            if not isinstance(loader, DataLoader):
                raise UsageError(
                    "loaders are samerun.data.DataLoader, which keep their position; a "
                    f"{type(loader).__name__} does not. Leave it out, and save at the end of an epoch"
                )
        training_state.seed_from_here(seed, mode)
        self._accelerator = accelerator
        self._loaders = list(loaders)
        accelerator.register_for_checkpointing(self)

    def digest(self) -> dict[str, int]:
        """The digest of the prepared models and optimizers now, for `accelerator.log(…)`."""
        return training_state.digest_step(self._accelerator._models, self._accelerator._optimizers)

    def state_dict(self) -> dict[str, Any]:
        """Called by `save_state()`, on every rank."""
        inside = self._accelerator.gradient_state.in_dataloader  # a loop over a prepared one
        positions = [Position(loader, middle=True) for loader in self._loaders]
        positions += [Position(loader, middle=inside) for loader in self._accelerator._dataloaders]
        lost = [] if self._accelerator.sync_gradients else [training_state.BETWEEN]
        return training_state.capture_ranks(positions, lost=lost)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Called by `load_state()`, when it has restored everything else."""
        training_state.restore_rank(saved, [*self._loaders, *self._accelerator._dataloaders])
