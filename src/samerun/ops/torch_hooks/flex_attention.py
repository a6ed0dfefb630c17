"""FlexAttention's gradients of the tensors that a score_mod captures, such as a learnt bias.

Compiled, their sums are atomic additions inside the template of the backward pass. Where there are such
tensors the backward pass is torch's own dense one instead, that of an uncompiled flex_attention: its sums are
those of `index_put`, which repeat themselves in deterministic mode. The forward pass stays the template's.

The dense one holds the scores of all queries and keys a few times over, in float32 (float64 for float64). So
it is computed for so many queries at a time, and the parts of the other gradients are added in their order.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from samerun.import_hook import change_once_imported
from samerun.wrapping import wrap_attribute

_FLEX = "torch._higher_order_ops.flex_attention"
_SCORES = 1 << 28  # elements of the scores held at a time: 1 GiB in float32, and as much a few times over


def avoid_atomic_gradients() -> Callable[[], None]:
    """Have the backward pass of FlexAttention make none, once it is imported; return what puts it back."""
    return change_once_imported(_FLEX, _divert)


def _divert() -> Callable[[], None]:
    module: Any = sys.modules[_FLEX]
    operator = type(module.flex_attention_backward)
    call = operator.__call__

    def diverted(
        self: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        out: torch.Tensor,
        logsumexp: torch.Tensor,
        grad_out: torch.Tensor | None,
        grad_logsumexp: torch.Tensor | None,
        fw_graph: Any,
        joint_graph: Any,
        block_mask: tuple[Any, ...],
        scale: float,
        kernel_options: dict[str, Any],
        captured: tuple[Any, ...] = (),
        captured_by_mask: tuple[Any, ...] = (),
    ) -> Any:
        graphs = fw_graph, joint_graph, block_mask
        others = scale, kernel_options, captured, captured_by_mask
        learnt = any(isinstance(tensor, torch.Tensor) and tensor.requires_grad for tensor in captured)
        if not learnt or kernel_options.get("BACKEND") == "FLASH":  # whose sums of exponentials are others
            return call(self, query, key, value, out, logsumexp, grad_out, grad_logsumexp, *graphs, *others)
        rows = query.shape[2]
        of_a_row = query.shape[0] * query.shape[1] * key.shape[2]
        given = query, out, logsumexp, grad_out, grad_logsumexp

        def dense(given: Sequence[Any], graphs: Sequence[Any]) -> Any:
            query, out, *rest = given
            return module.sdpa_dense_backward(query, key, value, out, *rest, *graphs, *others)

        if rows * of_a_row <= _SCORES:
            return dense(given, graphs)
        at_a_time = max(1, _SCORES // of_a_row)
        parts = []
        for start in range(0, rows, at_a_time):
            count = min(at_a_time, rows - start)
            some = [tensor if tensor is None else tensor.narrow(2, start, count) for tensor in given]
            mask = (*block_mask[:-1], _shift_query(block_mask[-1], 2, start))
            parts.append(
                dense(some, (_shift_query(fw_graph, 3, start), _shift_query(joint_graph, 3, start), mask))
            )
        return _join_gradients(parts)

    def called(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return diverted(*args, **kwargs)

    return wrap_attribute(operator, "__call__", called)


def _shift_query(function: Any, position: int, start: int) -> Any:
    """The same function of (…, index of the query, …), where index 0 stands for `start`."""
    if function is None:
        return None

    def moved(*args: Any) -> Any:
        return function(*args[:position], args[position] + start, *args[position + 1 :])

    return moved


def _join_gradients(parts: Sequence[Any]) -> Any:
    """The gradients of all queries from those of stretches of them."""
    queries = torch.cat([part[0] for part in parts], dim=2)
    keys, values = (functools.reduce(torch.add, [part[n] for part in parts]) for n in (1, 2))
    captured = tuple(
        functools.reduce(torch.add, some) if isinstance(some[0], torch.Tensor) else some[0]
        for some in zip(*(part[3] for part in parts), strict=True)
    )
    return queries, keys, values, captured
