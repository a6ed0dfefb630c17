"""Backward pass of ctc_loss: the paths through a label are added up by label, in a fixed order.

https://www.cs.toronto.edu/~graves/icml_2006.pdf, equations 9 to 16, in logarithms as in torch's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from samerun.ops.engines import segments
from samerun.ops.engines.triton_probe import works_on
from samerun.ops.example_inputs import draw_integers, draw_normal
from samerun.ops.implementation import Implementation


def ctc_loss_backward(
    grad: torch.Tensor,
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Sequence[int] | torch.Tensor,
    target_lengths: Sequence[int] | torch.Tensor,
    neg_log_likelihood: torch.Tensor,
    log_alpha: torch.Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> torch.Tensor:
    """The gradient of log_probs [T, B, C], from grad [B] and the forward pass's log_alpha [B, T, 2S + 1]."""
    device, dtype = log_probs.device, log_probs.dtype
    # Long sums of logarithms of one magnitude, of which the difference is wanted.
    log_probs, log_alpha, neg_log_likelihood = (
        t.double() for t in (log_probs, log_alpha, neg_log_likelihood)
    )
    times, states = _list_lengths(input_lengths), _list_lengths(target_lengths)
    longest, labels = log_probs.shape[0], log_probs.shape[2]
    word = _Words(targets, states, blank, log_alpha.shape[2], device)
    ends = torch.tensor(times, device=device)
    # [T, B, states]: each state's log probability, then that of the paths from it to the end
    emitted = log_probs.gather(2, word.label.expand(longest, -1, -1))
    beta = _compute_beta(emitted, word, ends)
    alpha = log_alpha.transpose(0, 1)
    steps = torch.arange(longest, device=device).view(-1, 1)
    alive = (steps < ends).unsqueeze(2) & word.exists
    alpha = torch.nn.functional.pad(alpha, (0, 0, 0, 0, 0, longest - alpha.shape[0]))
    joint = torch.where(alive, alpha + beta, float("-inf"))
    # The states of one label meet: rows of (sample, state), each with all its times.
    samples = torch.arange(log_probs.shape[1], device=device).view(-1, 1)
    found = segments.find_segments((word.label + samples * labels).reshape(-1))
    met = found.reduce(joint.permute(1, 2, 0).reshape(-1, longest), torch.logaddexp)
    paths = log_probs.new_full((log_probs.shape[1] * labels, longest), float("-inf"))
    paths = paths.index_copy_(0, found.keys, met).view(-1, labels, longest).permute(2, 0, 1)
    loss = neg_log_likelihood.view(1, -1, 1)
    result = (log_probs.exp() - (paths + loss - log_probs).exp()) * grad.view(1, -1, 1)
    result = result.masked_fill(((steps >= ends) | (ends == 0)).unsqueeze(2), 0)
    if zero_infinity:
        result = result.masked_fill(loss == float("inf"), 0)
    return result.to(dtype).contiguous()


class _Words:
    """The targets with a blank before, between and after their labels."""

    def __init__(
        self, targets: torch.Tensor, lengths: list[int], blank: int, states: int, device: torch.device
    ) -> None:
        most = (states - 1) // 2
        count = torch.tensor(lengths, device=device).view(-1, 1)
        place = torch.arange(most, device=device)
        if targets.dim() == 1:  # one after the other
            place = place + (count.cumsum(0) - count)
            rows = targets.to(device).long().view(1, -1).expand(len(lengths), -1)
        else:
            place = place.expand(len(lengths), -1)
            rows = targets.to(device).long()
        real = torch.arange(most, device=device) < count
        width = max(rows.shape[1], 1)
        rows = rows if rows.shape[1] else rows.new_zeros((len(lengths), 1))
        inner = rows.gather(1, place.clamp(max=width - 1)).masked_fill(~real, blank)
        self.label = torch.full((len(lengths), states), blank, device=device)
        self.label[:, 1::2] = inner
        number = torch.arange(states, device=device)
        self.last = 2 * count  # of the states
        self.exists = number <= self.last
        jump = self.label[:, 2:] != self.label[:, :-2]
        self.jumps = torch.nn.functional.pad(jump, (0, min(2, states))) & (number + 2 <= self.last)


def _compute_beta(emitted: torch.Tensor, word: _Words, ends: torch.Tensor) -> torch.Tensor:
    """[T, B, states]: the log probability of all that follows from each state on, itself included."""
    longest, count, states = emitted.shape
    if works_on(emitted.device):
        from samerun.ops.engines import ctc_triton

        if states <= ctc_triton.MOST:
            return ctc_triton.compute_beta(emitted, word.jumps, word.last, ends)
    none = emitted.new_full((count, states), float("-inf"))
    number = torch.arange(states, device=emitted.device)
    final = (number == word.last) | (number == word.last - 1)
    starts = torch.where(final, torch.zeros_like(none), none)
    ends = ends.view(-1, 1)
    beta = emitted.new_empty(emitted.shape)
    now = none
    for step in range(longest - 1, -1, -1):
        padded = torch.nn.functional.pad(now, (0, 2), value=float("-inf"))
        jumped = torch.where(word.jumps, padded[:, 2 : states + 2], none)
        came = torch.logaddexp(torch.logaddexp(now, padded[:, 1 : states + 1]), jumped)
        came = torch.where(ends - 1 == step, starts, came)
        now = torch.where((ends > step) & word.exists, came + emitted[step], none)
        beta[step] = now
    return beta


def _list_lengths(given: Sequence[int] | torch.Tensor) -> list[int]:
    return [int(length) for length in (given.tolist() if isinstance(given, torch.Tensor) else given)]


def _make_example(device: torch.device) -> tuple[Any, ...]:
    log_probs = draw_normal((60, 16, 30), device).log_softmax(2)
    targets = 1 + draw_integers(29, (16, 20), device)
    lengths = [60 - i for i in range(16)], [20 - i for i in range(16)]
    loss, alpha = torch.ops.aten._ctc_loss(log_probs, targets, *lengths, 0)
    return torch.ones(16, device=device), log_probs, targets, *lengths, loss, alpha, 0


IMPLEMENTATIONS = (
    Implementation(
        name="_ctc_loss_backward",
        kernels={"_ctc_loss_backward": ctc_loss_backward, "_ctc_loss_backward.Tensor": ctc_loss_backward},
        example=_make_example,
        why="the paths through equal labels are added atomically",
        how="the backward recursion, then the states of each label by stable sort and a balanced tree",
        source="https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/LossCTC.cpp",
        cost="float64, and without Triton some eight small launches for each time step",
        alerts=("ctc_loss_backward_gpu",),
    ),
)
