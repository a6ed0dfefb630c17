"""Fused attention's backward is torch's own, called as if deterministic algorithms were demanded."""

from __future__ import annotations

import pytest
import torch

from samerun.ops import implementations
from samerun.ops.torch_hooks import original_kernels

NAMES = "_scaled_dot_product_flash_attention_backward", "_efficient_attention_backward"


def kernel(name):
    return next(one.kernels[name] for one in implementations().values() if name in one.kernels)


def state():
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.utils.deterministic.fill_uninitialized_memory,
    )


@pytest.fixture(params=[(False, False), (True, True), (True, False)], ids=["off", "warn", "strict"])
def flags(request):
    before = state()
    torch.use_deterministic_algorithms(request.param[0], warn_only=request.param[1])
    yield state()
    torch.use_deterministic_algorithms(before[0], warn_only=before[1])
    torch.utils.deterministic.fill_uninitialized_memory = before[2]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_demanded_for_the_call_alone(monkeypatch, flags, name):
    seen = []

    def native(overload, device, *args, **kwargs):
        seen.append((overload, device.type, args[1:], kwargs, state()))
        return "gradients"

    monkeypatch.setattr(original_kernels, "call", native)
    assert kernel(name)(torch.ones(2), 1, 2, scale=0.5) == "gradients"
    on = flags[0]  # the memory fill goes with the flag: where it was off, nothing is filled
    assert seen == [(name, "cpu", (1, 2), {"scale": 0.5}, (True, False, on))]
    assert state() == flags


def test_what_it_raises_leaves_the_flags_as_they_were(monkeypatch, flags):
    def native(*args, **kwargs):
        raise RuntimeError("num_splits_key")

    monkeypatch.setattr(original_kernels, "call", native)
    with pytest.raises(RuntimeError, match="num_splits_key"):
        kernel(NAMES[0])(torch.ones(2))
    assert state() == flags
