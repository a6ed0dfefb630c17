"""samerun in Ultralytics: `SameRun(seed=0).attach(model)`."""

from __future__ import annotations

from typing import Any

from samerun.integrations.framework_needed import need_framework

with need_framework("ultralytics", "ultralytics"):
    import ultralytics  # noqa: F401  nothing of it is needed but that it is there

from samerun.integrations import training_state


class SameRun:
    """Seeds and controls, and logs the digest of each epoch's last step.

    With a seed, `samerun.seed_everything(seed, mode=mode)` is called at once: make it before the model. (The
    trainer seeds again, with `train(seed=…)`.) The digest is in results.csv and in the loggers, among the
    learning rates: there is no other place that all of them read.

    No exact resume: Ultralytics keeps weights and optimizer in float16 in its checkpoints, which loses bits.
    """

    def __init__(self, seed: int | None = None, *, mode: str = "strict") -> None:
        training_state.seed_from_here(seed, mode)

    def callbacks(self) -> dict[str, Any]:
        """By event, as `model.add_callback(event, function)` takes them."""
        return {"on_train_epoch_end": _log}

    def attach(self, model: Any) -> None:
        """Add them to a model."""
        for event, function in self.callbacks().items():
            model.add_callback(event, function)


def _log(trainer: Any) -> None:
    averages = [] if trainer.ema is None else [trainer.ema.ema]
    trainer.lr.update(training_state.digest_step([trainer.model, *averages], [trainer.optimizer]))
