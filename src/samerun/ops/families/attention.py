"""Backward passes of fused attention: torch's own kernels, asked to be repeatable whatever the flags say.

They have a repeatable way, and take it only when deterministic algorithms are demanded: not when they are
to warn, and then they say so once, or not at all.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from samerun.ops.example_inputs import draw_normal
from samerun.ops.implementation import Implementation
from samerun.ops.torch_hooks import original_kernels


def backward(overload: str, grad_output: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    """What torch's own kernel gives where deterministic algorithms are demanded."""
    with _demand_deterministic():
        return original_kernels.call(overload, grad_output.device, grad_output, *args, **kwargs)


@contextmanager
def _demand_deterministic() -> Iterator[None]:
    """Deterministic algorithms, and no memory fill that was not asked for."""
    # Not torch.use_deterministic_algorithms, which tells the compiler, too, and imports it for that.
    switch = torch._C._set_deterministic_algorithms
    was = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    memory: Any = torch.utils.deterministic
    fill = memory.fill_uninitialized_memory
    memory.fill_uninitialized_memory = fill and was
    switch(True, warn_only=False)
    try:
        yield
    finally:
        switch(was, warn_only=warns)
        memory.fill_uninitialized_memory = fill


def _make_flash_example(device: torch.device) -> tuple[Any, ...]:
    query, key, value, grad = _draw_four(device)
    found = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value)
    output, logsumexp, ends_q, ends_k, most_q, most_k, seed, offset, _ = found
    kept = output, logsumexp, ends_q, ends_k, most_q, most_k
    return grad, query, key, value, *kept, 0.0, False, seed, offset


def _make_efficient_example(device: torch.device) -> tuple[Any, ...]:
    query, key, value, grad = _draw_four(device)
    output, logsumexp, seed, offset = torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, None, True
    )
    mask = [True, True, True, False]
    return grad, query, key, value, None, output, logsumexp, seed, offset, 0.0, mask


def _draw_four(device: torch.device) -> list[torch.Tensor]:
    return [draw_normal((2, 4, 1024, 64), device, seed).half() for seed in range(4)]


def _make_implementation(kind: str, example: Any) -> Implementation:
    names = f"_scaled_dot_product_{kind}_attention_backward", f"_{kind}_attention_backward"
    return Implementation(
        name=names[0],
        kernels={name: functools.partial(backward, name) for name in names},
        example=example,
        why="blocks add to the same gradients, atomically, unless deterministic algorithms are demanded",
        how="torch's own repeatable way, also under warn",
        source="https://github.com/pytorch/pytorch/tree/main/aten/src/ATen/native/transformers/cuda",
        cost="that of torch's own repeatable way",
    )


IMPLEMENTATIONS = (
    _make_implementation("flash", _make_flash_example),
    _make_implementation("efficient", _make_efficient_example),
)
