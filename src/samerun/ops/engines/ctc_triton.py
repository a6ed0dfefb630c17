"""The backward recursion of ctc_loss as one Triton kernel: a program for each sample walks back in time."""
# In a kernel annotations are part of Triton's language, so its functions have no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import torch
import triton
import triton.language as tl

from samerun.ops.engines.triton_probe import launch_on

MOST = 4096  # states of a sample that one program holds


@triton.jit
def _add_logs(a, b):
    """log(exp(a) + exp(b)), also of -inf."""
    most = tl.maximum(a, b)
    return tl.where(most == float("-inf"), most, most + tl.log(1.0 + tl.exp(-tl.abs(a - b))))


@triton.jit(do_not_specialize=["longest", "count", "states"])
def _compute_beta(emitted, jumps, last, ends, result, longest, count, states, BLOCK: tl.constexpr):
    """result[T, B, states], from emitted of that shape, jumps: int8[B, states], last, ends: int64[B]."""
    sample = tl.program_id(0).to(tl.int64)
    state = tl.arange(0, BLOCK)
    inside = state < states
    jump = tl.load(jumps + sample * states + state, mask=inside, other=0) != 0
    last_state = tl.load(last + sample)
    end = tl.load(ends + sample)
    none = tl.full((BLOCK,), float("-inf"), tl.float64)
    begun = tl.where((state == last_state) | (state == last_state - 1), 0.0, none)
    for back in range(longest):
        step = longest - 1 - back
        row = (step * count + sample) * states + state
        after = result + row + count * states
        # Not `inside & …` of one truth: Triton's interpreter makes integers of that, which are no mask.
        later = state < tl.where(step < longest - 1, states, 0)
        stay = tl.load(after, mask=later, other=float("-inf"))
        go = tl.load(after + 1, mask=later & (state + 1 < states), other=float("-inf"))
        skip = tl.load(after + 2, mask=later & (state + 2 < states) & jump, other=float("-inf"))
        came = _add_logs(_add_logs(stay, go), skip)
        came = tl.where(step == end - 1, begun, came)
        alive = inside & (state <= tl.where(step < end, last_state, -1))
        own = tl.load(emitted + row, mask=alive, other=0.0)
        tl.store(result + row, tl.where(alive, came + own, none), mask=inside)
        tl.debug_barrier()  # the next step reads what its neighbours have stored


def compute_beta(
    emitted: torch.Tensor, jumps: torch.Tensor, last: torch.Tensor, ends: torch.Tensor
) -> torch.Tensor:
    """What ctc_loss._compute_beta gives, from float64[T, B, states], bool[B, states] and int64[B]."""
    emitted = emitted.contiguous()
    result = torch.empty_like(emitted)
    longest, count, states = emitted.shape
    if result.numel():
        with launch_on(emitted.device):
            _compute_beta[(count,)](
                emitted,
                jumps.to(torch.int8).contiguous(),
                last.contiguous(),
                ends.contiguous(),
                result,
                longest,
                count,
                states,
                BLOCK=triton.next_power_of_2(states),
            )
    return result
