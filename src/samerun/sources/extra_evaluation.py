"""One more validation pass in the middle of the training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import root_modules
from samerun.sources.source import Kind, Settings, Source, Undo, Variant


class ExtraEvaluation(Source):
    """An evaluation must leave no trace: no random numbers drawn, no statistics or counters moved."""

    id = "extra-evaluation"
    summary = "to evaluate the model once more changes the training that follows"
    advice = "model.eval() and torch.no_grad() in evaluations, and generators of their own for what they draw"
    kind = Kind.ORDER
    controllable = False
    hooks_into = "torch"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Before each of the first `value` training calls of a root module: call it in eval mode."""
        done = 0

        def change(call: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            nonlocal done
            import torch

            if done < value and module.training and torch.is_grad_enabled():
                done += 1
                took()
                modes = [(part, part.training) for part in module.modules()]
                module.eval()
                try:
                    with torch.no_grad():
                        call(module, *args, **kwargs)
                finally:
                    for part, training in modes:
                        part.training = training
            return call(module, *args, **kwargs)

        return root_modules.change_calls(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Two more passes. Only the weights are compared: the passes themselves are others."""
        return [Variant("two validation passes more", 2, likely=0.3, compares="weights", acts=True)]
