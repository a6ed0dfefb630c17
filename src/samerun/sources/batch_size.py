"""The same samples, grouped otherwise: what gradient accumulation does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import root_modules
from samerun.sources.source import Kind, Settings, Source, Undo, Variant


class BatchSize(Source):
    """Rows are rounded otherwise in a batch of another size, and batch norm sees other batches."""

    id = "batch-size"
    summary = "another batch size changes the low-order bits, and the batch statistics, of the same samples"
    advice = "compare trainings with the same batch size and the same number of accumulated steps"
    kind = Kind.NUMERICS
    controllable = False
    hooks_into = "torch"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Compute each training batch in `value` parts, whose gradients are added up."""

        def change(call: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            import torch

            rows = _count_rows((*args, *kwargs.values()))
            if rows < value or not module.training or not torch.is_grad_enabled():
                return call(module, *args, **kwargs)
            took()
            outputs = []
            for part in range(value):
                start, end = part * rows // value, (part + 1) * rows // value
                some = [_part(item, rows, start, end) for item in args]
                named = {name: _part(item, rows, start, end) for name, item in kwargs.items()}
                outputs.append((end - start, call(module, *some, **named)))
            return _join(outputs, rows)

        return root_modules.change_calls(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Two halves, as with two accumulated steps. Only the weights are compared: the calls are others."""
        return [Variant("each batch in two halves", 2, likely=0.7, compares="weights", acts=True)]


def _count_rows(values: Sequence[Any]) -> int:
    """How many rows the tensors among these have, 0 where they do not agree."""
    import torch

    sizes = {value.shape[0] for value in values if isinstance(value, torch.Tensor) and value.ndim}
    return sizes.pop() if len(sizes) == 1 else 0


def _part(value: Any, rows: int, start: int, end: int) -> Any:
    import torch

    whole = not isinstance(value, torch.Tensor) or not value.ndim or value.shape[0] != rows
    return value if whole else value[start:end]


def _join(outputs: list[tuple[int, Any]], rows: int) -> Any:
    """The output for the whole batch: rows one after the other, a number as the mean over the rows."""
    import torch

    first = outputs[0][1]
    if isinstance(first, torch.Tensor):
        if first.ndim and first.shape[0] == outputs[0][0]:
            return torch.cat([output for _, output in outputs])
        if not first.ndim:
            return sum(output * (count / rows) for count, output in outputs)
    elif isinstance(first, (tuple, list)) and not hasattr(first, "_fields"):
        return type(first)(
            _join([(n, output[at]) for n, output in outputs], rows) for at in range(len(first))
        )
    elif isinstance(first, dict):  # ModelOutput of transformers too
        return type(first)(
            **{name: _join([(n, output[name]) for n, output in outputs], rows) for name in first}
        )
    elif first is None:
        return None
    raise RuntimeError(f"samerun cannot put the outputs of two halves of a batch together: {type(first)}")
