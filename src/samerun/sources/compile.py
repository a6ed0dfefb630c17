"""torch.compile: https://docs.pytorch.org/docs/stable/generated/torch.compile.html."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import root_modules
from samerun.sources.source import Kind, Settings, Source, Undo, Variant
from samerun.wrapping import Parameter, undo_all, wrap_attribute


class Compile(Source):
    """Compiled models round otherwise, and draw dropout from another generator."""

    id = "compile"
    summary = "a compiled model rounds differently from an eager one, and draws other random numbers"
    advice = "compare compiled with compiled, or eager with eager"
    kind = Kind.NUMERICS
    controllable = False
    hooks_into = "torch"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """`eager`: nothing is compiled; `compiled`: every root module is, before it is first called."""
        import torch

        if value == "eager":
            return _run_eagerly(took)

        compiled: set[int] = set()
        kept: list[Any] = []

        def change(call: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if id(module) not in compiled and not isinstance(module, torch.nn.modules.loss._Loss):
                took()
                compiled.add(id(module))
                kept.append(module)  # no other module may get its address
                module.compile()
            return call(module, *args, **kwargs)

        return root_modules.change_calls(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Compiled; and eager, which acts on a script that compiles."""
        return [
            Variant("eager", "eager", likely=0.1, compares="weights"),
            Variant("compiled", "compiled", likely=0.5, runs=8.0, compares="weights", acts=True),
        ]


def _run_eagerly(took: Callable[[], None]) -> Undo:
    import torch

    model = Parameter("model", 0)

    def compile(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        took()
        given = model.of(args, kwargs, None)
        return given if given is not None else lambda function: function

    def compile_module(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        took()

    return undo_all(
        [
            wrap_attribute(torch, "compile", compile),
            wrap_attribute(torch.nn.Module, "compile", compile_module),
        ]
    )
