"""What a model draws while it trains: https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import root_modules
from samerun.sources.patching.torch_stream import TorchStream
from samerun.sources.source import Kind, Label, Settings, Source, Undo, Variant


class Dropout(Source):
    """Dropout, stochastic depth, noise layers: all that is drawn in calls of a model that trains."""

    id = "dropout"
    summary = "a model draws random numbers in its forward pass, dropout for example"
    advice = "torch.manual_seed(0)"
    kind = Kind.RNG
    studied_as = Label(3, "dropout, and all that a model draws in its forward pass")
    controllable = False  # torch-cpu and torch-cuda control the generators that it draws from
    hooks_into = "torch"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Draw from a stream of its own, of the seed `value`, in every call of a root module that trains."""
        stream = TorchStream(value, self.id)

        def change(call: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not module.training:
                return call(module, *args, **kwargs)
            took()
            with stream:
                return call(module, *args, **kwargs)

        return root_modules.change_calls(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another seed."""
        return [Variant("another seed", 4242, likely=0.9)]
