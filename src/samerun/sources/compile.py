"""torch.compile: https://docs.pytorch.org/docs/stable/generated/torch.compile.html."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources import _root_calls
from samerun.sources.source import Settings, Source, Undo, Variant


class Compile(Source):
    """Compiled models round otherwise, and draw dropout from another generator."""

    id = "compile"
    summary = "a compiled model rounds otherwise than an eager one, and draws other random numbers"
    advice = "compare compiled with compiled, or eager with eager"
    kind = "numerics"
    controllable = False
    hooks_into = "torch"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """`eager`: nothing is compiled; `compiled`: every root module is, before it is first called."""
        import torch

        if value == "eager":
            return _eagerly(took)

        compiled: set[int] = set()
        kept: list[Any] = []

        def change(call: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if id(module) not in compiled and not isinstance(module, torch.nn.modules.loss._Loss):
                took()
                compiled.add(id(module))
                kept.append(module)  # no other module may get its address
                module.compile()
            return call(module, *args, **kwargs)

        return _root_calls.changing(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Compiled; and eager, which acts on a script that compiles."""
        return [
            Variant("eager", "eager", likely=0.1, compares="weights"),
            Variant("compiled", "compiled", likely=0.5, runs=8.0, compares="weights", acts=True),
        ]


def _eagerly(took: Callable[[], None]) -> Undo:
    import torch

    original: Any = torch.compile

    def compile(model: Any = None, **options: Any) -> Any:
        took()
        return model if model is not None else lambda function: function

    own: Any = torch.nn.Module.compile

    def compile_module(self: Any, *args: Any, **kwargs: Any) -> None:
        took()

    torch.compile = compile
    torch.nn.Module.compile = compile_module  # type: ignore[method-assign]

    def undo() -> None:
        torch.compile = original
        torch.nn.Module.compile = own  # type: ignore[method-assign]

    return undo
