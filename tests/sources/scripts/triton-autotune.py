import os
import time

os.environ["TRITON_INTERPRET"] = "1"  # which computes kernels on the CPU

import torch
import triton
import triton.language as tl
from torch import nn


def time_it(call, quantiles):
    call()
    return [time.perf_counter_ns() % 1009] * 3  # as close to each other as real ones often are


sizes = [triton.Config({"BLOCK": size}) for size in (16, 32, 64, 128, 256, 512)]


@triton.autotune(configs=sizes, key=["n"], do_bench=time_it)
@triton.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + at, mask=at < n, other=0.0)
    tl.store(out + row, tl.sum(total, 0))


class RowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        out = torch.empty(len(x))
        row_sum[(len(x),)](x.contiguous(), out, x.shape[1])
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad[:, None].expand(ctx.shape)


torch.manual_seed(0)
weight = nn.Parameter(torch.randn(3000))
x = torch.randn(8, 3000)
for _ in range(2):
    RowSum.apply(x * weight).square().sum().backward()
    weight.data -= 1e-6 * weight.grad
    weight.grad = None
