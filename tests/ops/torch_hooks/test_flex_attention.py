"""FlexAttention's gradients of what a score_mod captures, compiled.

torch refuses its backward pass on the CPU, where there is no template for it; that refusal is taken out here.
"""

from __future__ import annotations

import importlib
import math

import pytest
import torch
from torch._dynamo.backends.common import aot_autograd
from torch.nn.attention import flex_attention as api

from samerun import ops
from samerun.ops import installation
from samerun.ops.torch_hooks import flex_attention

MODULE = importlib.import_module("torch._higher_order_ops.flex_attention")  # hidden by its operator
B, H, L, S, E = 2, 4, 48, 40, 8


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(api, "_validate_device", lambda *tensors: None)
    torch._dynamo.reset()
    with installation.put_in(ops.implementations().values(), lambda _: ("CUDA",)):
        yield
    torch._dynamo.reset()


def inputs(dtype=torch.float64, bias=True):
    generator = torch.Generator().manual_seed(0)
    shapes = (B, H, L, E), (B, H, S, E), (B, H, S, E), (L + S, H), ()
    made = [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]
    # torch itself has no gradient for what is captured and not indexed, as the last one
    return [tensor.requires_grad_(n < 3 or (n == 3 and bias)) for n, tensor in enumerate(made)]


def attention(query, key, value, bias, slope):
    def score_mod(score, batch, head, row, column):
        return score * slope + bias[row - column + S, head]

    def causal(batch, head, row, column):
        return row >= column

    mask = api.create_block_mask(causal, None, None, L, S, device="cpu")
    return api.flex_attention(query, key, value, score_mod=score_mod, block_mask=mask)


def by_hand(query, key, value, bias, slope):
    scores = query @ key.transpose(-1, -2) / math.sqrt(E)
    row, column = torch.arange(L)[:, None], torch.arange(S)[None]
    scores = scores * slope + bias[row - column + S].permute(2, 0, 1)
    return scores.masked_fill(row < column, -math.inf).softmax(-1) @ value


def gradients(function, given):
    out = function(*given)
    wanted = [tensor for tensor in given if tensor.requires_grad]
    return [out.detach(), *torch.autograd.grad((out * out.detach().cos()).sum(), wanted)]


def operations(seen):
    """A backend that runs what it is given, and notes the operations of the backward pass."""

    def backward(graph, examples):
        seen.update(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph.forward

    def forward(graph, examples):
        return graph.forward

    return aot_autograd(fw_compiler=forward, bw_compiler=backward)


@pytest.mark.slow
@pytest.mark.parametrize("scores", [1 << 28, 20 * B * H * S], ids=["whole", "stretches"])
def test_they_are_right_and_none_is_left_to_the_template(installed, monkeypatch, scores):
    monkeypatch.setattr(flex_attention, "_SCORES", scores)
    seen: set[str] = set()
    compiled = torch.compile(attention, backend=operations(seen), fullgraph=True)
    for mine, right in zip(gradients(compiled, inputs()), gradients(by_hand, inputs()), strict=True):
        torch.testing.assert_close(mine, right, rtol=1e-10, atol=1e-10)
    assert "flex_lib.zeros_and_scatter.default" in seen
    assert "flex_attention_backward" not in seen


@pytest.mark.slow
def test_without_such_gradients_the_template_stays(installed):
    seen: set[str] = set()
    compiled = torch.compile(attention, backend=operations(seen), fullgraph=True)
    gradients(compiled, inputs(bias=False))
    assert "flex_attention_backward" in seen


def test_what_was_there_is_put_back():
    operator = type(MODULE.flex_attention_backward)
    before = operator.__call__
    with installation.put_in(ops.implementations().values(), lambda _: ("CUDA",)):
        assert operator.__call__ is not before
    assert operator.__call__ is before
