"""The initial weights: https://docs.pytorch.org/docs/stable/nn.init.html."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching.torch_stream import TorchStream
from samerun.sources.source import Kind, Label, Settings, Source, Undo, Variant
from samerun.wrapping import Around, undo_all, wrap_attribute

_DRAW = (
    "uniform_", "normal_", "trunc_normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
    "kaiming_normal_", "orthogonal_", "sparse_",
)  # fmt: skip


class Initialisation(Source):
    """What torch.nn.init draws; weights that a script draws itself (torch.randn) are torch-cpu's."""

    id = "initialisation"
    summary = "initial weights are drawn at random"
    advice = "torch.manual_seed(0) before the model is built"
    kind = Kind.RNG
    studied_as = Label(1, "initial weights")
    controllable = False  # torch-cpu controls the generator that it draws from
    hooks_into = "torch"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Draw from a stream of its own, of the seed `value`."""
        from torch.nn import init

        stream = TorchStream(value, self.id)
        return undo_all([wrap_attribute(init, name, _draw_from(stream, took)) for name in _DRAW])

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another seed."""
        return [Variant("another seed", 4242, likely=0.9)]


def _draw_from(stream: TorchStream, took: Callable[[], None]) -> Around:
    def draw(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        took()
        if kwargs.get("generator") is not None:
            return original(*args, **kwargs)
        with stream:
            return original(*args, **kwargs)

    return draw
