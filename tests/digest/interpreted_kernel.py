"""Run by test_mix128_triton.py with TRITON_INTERPRET=1: the kernel's lanes are those of torch operations."""

from __future__ import annotations

import torch

from samerun.digest import mix128_triton
from samerun.digest.host import view_as_bits
from samerun.digest.mix128 import compute_lanes
from samerun.digest.mix128_triton import launch, launch_many

DTYPES = [
    torch.uint8,
    torch.bool,
    torch.float16,
    torch.bfloat16,
    torch.float8_e5m2,
    torch.float32,
    torch.int64,
]


def check(t: torch.Tensor, seed: int, before: int = 0) -> None:
    """The kernel adds its lanes to row 1 of three, and to no other."""
    rows = torch.full((3, 2), before)
    launch(view_as_bits(t), rows, 1, seed)
    expected = torch.full((3, 2), before)
    expected[1] += compute_lanes(t, seed)
    assert torch.equal(rows, expected), (t.dtype, t.shape, t.storage_offset(), seed, rows, expected)


def check_many(tensors: list[torch.Tensor]) -> None:
    """The kernel of many tensors adds the lanes of each to a row of its own, from row 2 on."""
    seeds = [-(2**62) + 7 * number for number in range(len(tensors))]
    entries = [[t.data_ptr(), t.nbytes, seed] for t, seed in zip(tensors, seeds, strict=True)]
    rows = torch.zeros(len(tensors) + 3, 2, dtype=torch.int64)
    launch_many(torch.tensor(entries), rows, 2, max(t.nbytes for t in tensors))
    expected = torch.zeros_like(rows)
    for number, (t, seed) in enumerate(zip(tensors, seeds, strict=True)):
        expected[2 + number] = compute_lanes(t, seed % (1 << 64))
    assert torch.equal(rows, expected), (rows, expected)


def main() -> None:
    """Every tail, every alignment, every width, and more words than one round of programs reads."""
    generator = torch.Generator().manual_seed(0)
    data = torch.randint(0, 256, (1 << 16,), dtype=torch.uint8, generator=generator)
    for tail in range(1, 18):
        check(data[:tail], seed=tail)
        check(data[tail : tail + 8 * 130 + tail], seed=(1 << 64) - tail)
    for offset in range(9):
        check(data[offset : offset + 8200], seed=1 << 63)
    for dtype in DTYPES:
        check(data[:4096].view(dtype), seed=3)
        check(data[:4096].view(dtype).reshape(4, -1).t(), seed=3)
        check(data[:160].view(dtype)[1:], seed=3)
    check(torch.complex(torch.ones(9).double(), -torch.ones(9).double()).reshape(3, 3).t(), seed=4)
    check(data[:100], seed=5, before=-(2**62))
    check_many([data[8 * n : 8 * n + n] for n in range(1, 20)])
    mix128_triton._PROGRAMS_OF_MANY = 3
    check_many([torch.arange(n) for n in (1, 1024, 1025, 1024 * 7 + 5, 2)] + [torch.ones(3).bfloat16()])
    mix128_triton._PROGRAMS = 4
    check(torch.arange(1024 * 10 + 5), seed=6)
    print("equal")


if __name__ == "__main__":
    main()
