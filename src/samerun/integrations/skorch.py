"""samerun in skorch: `NeuralNet(…, callbacks=[SameRun(seed=0)])`."""

from __future__ import annotations

from typing import Any

from samerun.integrations.framework_needed import need_framework

with need_framework("skorch", "skorch"):
    from skorch.callbacks import Callback

from samerun.integrations import training_state


class SameRun(Callback):
    """Seeds and controls, keeps the digest of each batch and epoch in the history, makes a resume exact.

    With a seed, `samerun.seed_everything(seed, mode=mode)` is called as the net initializes, before it makes
    its module. The digest is in `net.history`, from where skorch's loggers take it. `net.samerun_` has the
    generators: `Checkpoint(f_samerun="samerun.pt", …)` keeps them, and `LoadInitState`, which comes after
    this callback, brings them back.

    A resume that cannot be exact (training was interrupted in mid-epoch, workers persist) is a StateError.
    """

    def __init__(self, seed: int | None = None, mode: str = "strict") -> None:
        self.seed = seed
        self.mode = mode

    def initialize(self) -> SameRun:
        """Seed: skorch makes the module after this."""
        training_state.seed_from_here(self.seed, self.mode)
        self.inside_ = False
        self.loaded_: Any = None
        self.digest_: dict[str, int] = {}
        return self

    def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **others: Any) -> None:
        """Give the net what Checkpoint saves."""
        self.lost_ = _explain_lost(net)
        net.samerun_ = self

    def on_epoch_begin(self, net: Any, **others: Any) -> None:
        """Restore what `LoadInitState` brought."""
        self.inside_ = False
        self.digest_ = {}
        loaded, self.loaded_ = self.loaded_, None
        if loaded is not None:
            training_state.restore_rank(loaded, [])

    def on_batch_begin(self, net: Any, batch: Any = None, training: bool = False, **others: Any) -> None:
        """From here on the position in the epoch counts."""
        self.inside_ = self.inside_ or training

    def on_batch_end(self, net: Any, batch: Any = None, training: bool = False, **others: Any) -> None:
        """Keep the digest of a batch that was trained on."""
        if training:
            self.digest_ = _digest(net)
            for name, value in self.digest_.items():
                net.history.record_batch(name, value)

    def on_epoch_end(self, net: Any, **others: Any) -> None:
        """Keep the digest of the epoch's last batch as the epoch's."""
        self.inside_ = False
        for name, value in self.digest_.items():
            net.history.record(name, value)

    def state_dict(self) -> dict[str, Any]:
        """Called by `net.save_params(f_samerun=…)`."""
        lost = list(self.lost_)
        if self.inside_:
            lost.append("it was saved in the middle of an epoch, and skorch's iterators have no position")
        return training_state.capture_ranks([], lost=lost)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Called by `net.load_params(f_samerun=…)`; done as the next epoch begins."""
        self.loaded_ = saved


def _digest(net: Any) -> dict[str, int]:
    modules = [getattr(net, f"{name}_") for name in (*net._modules, *net._criteria)]
    return training_state.digest_step(modules, [getattr(net, f"{name}_") for name in net._optimizers])


def _explain_lost(net: Any) -> list[str]:
    options = net.get_params_for("iterator_train")
    if options.get("num_workers") and options.get("persistent_workers"):
        return ["the generators in persistent workers are in no checkpoint; leave persistent_workers False"]
    return []
