"""From the kernel of one overload, those of its variants with `out=` and in place."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from samerun.ops.implementation import Kernel


def list_variants(namespace: str, overload: str, kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """The overload and its kernel, then each variant of it and what computes that.

    Nothing for an overload that this torch does not have.
    """
    name, _, kind = overload.partition(".")
    schema = _find_schema(namespace, name, kind)
    if schema is None:
        return
    yield overload, kernel
    inputs = _list_inputs(schema)
    for other in getattr(getattr(torch.ops, namespace), name).overloads():
        sibling = _find_schema(namespace, name, "" if other == "default" else other)
        if sibling is None:
            continue
        outs = [argument.name for argument in sibling.arguments if argument.is_out]
        if outs and _list_inputs(sibling) == inputs:
            yield f"{name}.{other}", _write_into(kernel, outs)
    in_place = _find_schema(namespace, f"{name}_", kind)
    if in_place is not None and _list_inputs(in_place) == inputs:
        yield f"{name}_.{kind}".rstrip("."), _write_in_place(kernel)


def _list_inputs(schema: Any) -> list[tuple[str, str]]:
    """The names and types of what an overload reads: some differ in the types alone."""
    return [(argument.name, str(argument.type)) for argument in schema.arguments if not argument.is_out]


def _find_schema(namespace: str, name: str, kind: str) -> Any:
    """What torch declares of an overload; None when it has none of that name."""
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if packet is None or (kind or "default") not in packet.overloads():
        return None
    return getattr(packet, kind or "default")._schema


def _write_into(kernel: Kernel, outs: list[str]) -> Kernel:
    @functools.wraps(kernel)
    def with_out(*args: Any, **kwargs: Any) -> Any:
        targets = [kwargs.pop(name) for name in outs if name in kwargs]
        if len(targets) < len(outs):  # given by position
            missing = len(outs) - len(targets)
            args, targets = args[:-missing], [*args[-missing:], *targets]
        results = kernel(*args, **kwargs)
        for target, result in zip(targets, results if len(outs) > 1 else (results,), strict=True):
            _write(target, result)
        return tuple(targets) if len(outs) > 1 else targets[0]

    return with_out


def _write(target: torch.Tensor, result: torch.Tensor) -> None:
    """As torch's own do: another shape is taken on, another dtype must be one that the result casts to."""
    if not torch.can_cast(result.dtype, target.dtype):
        raise RuntimeError(
            f"result type {_name(result)} can't be cast to the desired output type {_name(target)}"
        )
    if target.shape != result.shape:
        if target.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(target.shape)}, "
                f"which does not match the required output shape {list(result.shape)}.",
                stacklevel=2,
            )
        target.resize_(result.shape)
    target.copy_(result)


def _name(t: torch.Tensor) -> str:
    return str(t.dtype).removeprefix("torch.")


def _write_in_place(kernel: Kernel) -> Kernel:
    @functools.wraps(kernel)
    def in_place(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return self.copy_(kernel(self, *args, **kwargs))

    return in_place
