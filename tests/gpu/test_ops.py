"""On a CUDA device: what strict mode replaces there is not refused, is right, and repeats itself."""

from __future__ import annotations

import pytest
import torch

import samerun
from samerun.ops import implementations
from samerun.ops.selftest import is_importable, run_operation

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
DEVICE = "cuda"
THERE = [
    one.name
    for one in implementations().values()
    if "CUDA" in one.devices and (not torch.cuda.is_available() or is_importable(one))
]
# On the CPU these have no kernel. The first is what grid_sampler_2d computes with corners aligned, the others
# are torch's own kernels, called another way.
WITHOUT_CPU = {
    "cudnn_grid_sampler_backward",
    "_scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_flash_attention_backward",
}
# Places of equal values: torch's own choice is not ours.
INDICES = {"median", "nanmedian"}

# Their bins begin and end where the places are rounded to, in the dtype that they have.
ROUNDED = {"histc", "_ps_roi_pool_backward"}


def compute(one, args):
    name, _, kind = next(iter(one.kernels)).partition(".")
    packet = getattr(getattr(torch.ops, one.namespace), name)
    result = getattr(packet, kind or "default")(*args, **one.options)
    return [t for t in (result if isinstance(result, (tuple, list)) else [result]) if t is not None]


def on(value, device, dtype=None):
    if isinstance(value, list):
        return [on(part, device, dtype) for part in value]
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(device, dtype if dtype is not None and value.is_floating_point() else value.dtype)


@pytest.mark.parametrize("name", THERE)
def test_it_is_not_refused_and_is_right(name):
    one = implementations()[name]
    args = one.example(torch.device("cpu")) if name not in WITHOUT_CPU else one.example(torch.device(DEVICE))
    exact = None
    if name not in WITHOUT_CPU:
        wide = None if name in ROUNDED else torch.float64
        exact = compute(one, [on(value, "cpu", wide) for value in args])
    with samerun.control(seed=0, only=["nondeterministic-kernels"]):
        found = compute(one, [on(value, DEVICE) for value in args])
    assert all(t.isfinite().all() for t in found)
    for mine, right in zip(found, exact or found, strict=True):
        if name not in INDICES or mine.is_floating_point():
            error = (mine.cpu().double() - right.cpu().double()).abs().max()
            assert error <= 1e-3 * right.double().abs().max()


@pytest.mark.parametrize("name", THERE)
def test_the_same_bits_in_two_hundred_runs_beside_other_work(name):
    with samerun.control(seed=0, only=["nondeterministic-kernels"]):
        found = run_operation(implementations()[name], torch.device(DEVICE), runs=200)
    assert (found.error, found.results) == (None, 1)


@pytest.mark.parametrize("length", [256, 1024])
def test_a_learnt_bias_of_compiled_flex_attention_gets_the_same_gradient(length):
    from torch.nn.attention.flex_attention import flex_attention

    generator = torch.Generator(DEVICE).manual_seed(0)
    shapes = *[(2, 4, length, 64)] * 3, (2 * length, 4)
    given = [torch.randn(shape, generator=generator, device=DEVICE).requires_grad_() for shape in shapes]

    def attention(query, key, value, bias):
        def score_mod(score, batch, head, row, column):
            return score + bias[row - column + length, head]

        return flex_attention(query, key, value, score_mod=score_mod)

    def by_hand(query, key, value, bias):
        row, column = (torch.arange(length, device=DEVICE)[at] for at in ((..., None), (None,)))
        scores = query @ key.transpose(-1, -2) / 8 + bias[row - column + length].permute(2, 0, 1)
        return scores.softmax(-1) @ value

    def gradients(function, given):
        return torch.autograd.grad(function(*given).square().sum(), given)

    torch._dynamo.reset()
    with samerun.control(seed=0, only=["nondeterministic-kernels"]):
        compiled = torch.compile(attention, fullgraph=True)
        runs = [gradients(compiled, given) for _ in range(20)]
    torch._dynamo.reset()
    for run in runs[1:]:
        assert all(torch.equal(mine, first) for mine, first in zip(run, runs[0], strict=True))
    exact = gradients(by_hand, [tensor.detach().double().requires_grad_() for tensor in given])
    for mine, right in zip(runs[0], exact, strict=True):
        assert (mine - right).abs().max() <= 2e-3 * right.abs().max()
