"""mix128 as one Triton kernel: each byte of the tensor is read once. The algorithm is in mix128.py.

Importing this module is fine without triton; `launch` is then None.
"""
# In a kernel annotations are part of Triton's language, so its functions have no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

from collections.abc import Callable

import torch

from samerun.digest.mix128 import read_signed

try:
    import triton
    import triton.language as tl
except ImportError:  # then the torch implementation is used
    triton = None

launch: Callable[[torch.Tensor, torch.Tensor, int, int], None] | None = None
launch_many: Callable[[torch.Tensor, torch.Tensor, int, int], None] | None = None

_BLOCK = 1024  # words that a program reads at once
_PROGRAMS_OF_MANY = 256  # for each of many tensors
_PROGRAMS = 1024  # at most: enough to fill a GPU, few enough that their atomic additions cost nothing

if triton is not None:

    @triton.jit
    def _mix(x, a: tl.constexpr, m: tl.constexpr, b: tl.constexpr, n: tl.constexpr, c: tl.constexpr):
        x = (x ^ (x >> a)) * tl.full((), m, tl.uint64)
        x = (x ^ (x >> b)) * tl.full((), n, tl.uint64)
        return x ^ (x >> c)

    @triton.jit
    def _place(i, seed):
        p = i.to(tl.uint64) * tl.full((), 0x9E3779B97F4A7C15, tl.uint64) + seed
        p = (p ^ (p >> 32)) * tl.full((), 0xD6E8FEB86659FD93, tl.uint64)
        return p ^ (p >> 29)

    @triton.jit
    def _mix_lane_a(word, p):
        return _mix(word ^ p, 33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33)

    @triton.jit
    def _mix_lane_b(word, p):
        return _mix(word + ((p << 32) | (p >> 32)), 30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31)

    @triton.jit
    def _read_unsigned(part, UNIT: tl.constexpr):
        if UNIT == 8:
            word = part.to(tl.uint64, bitcast=True)
        elif UNIT == 4:
            word = part.to(tl.uint32, bitcast=True).to(tl.uint64)
        elif UNIT == 2:
            word = part.to(tl.uint16, bitcast=True).to(tl.uint64)
        else:
            word = part.to(tl.uint8, bitcast=True).to(tl.uint64)
        return word

    @triton.jit
    def _add_words(data, row, nbytes, seed, program, step, UNIT: tl.constexpr, BLOCK: tl.constexpr):
        """Add the lanes of `nbytes` bytes at `data`, a pointer to integers of UNIT bytes, to two numbers."""
        words = nbytes // 8  # whole ones
        lane = tl.arange(0, BLOCK)
        a = tl.zeros((BLOCK,), tl.uint64)
        b = tl.zeros((BLOCK,), tl.uint64)
        start = program * BLOCK
        while start < words:
            i = start + lane
            inside = i < words
            word = tl.zeros((BLOCK,), tl.uint64)
            for piece in tl.static_range(8 // UNIT):
                part = tl.load(data + i * (8 // UNIT) + piece, mask=inside, other=0)
                word |= _read_unsigned(part, UNIT) << (8 * UNIT * piece)
            p = _place(i, seed)
            a += tl.where(inside, _mix_lane_a(word, p), 0)
            b += tl.where(inside, _mix_lane_b(word, p), 0)
            start += step
        tail = nbytes - words * 8
        if (program == 0) & (tail > 0):
            i = tl.arange(0, 8)
            inside = i < tail
            part = tl.load(data.to(tl.pointer_type(tl.uint8)) + words * 8 + i, mask=inside, other=0)
            word = tl.sum(part.to(tl.uint64) << (8 * i).to(tl.uint64), 0)
            p = _place(words, seed)
            a += tl.where(lane == 0, _mix_lane_a(word, p), 0)
            b += tl.where(lane == 0, _mix_lane_b(word, p), 0)
        tl.atomic_add(row, tl.sum(a, 0).to(tl.int64, bitcast=True))
        tl.atomic_add(row + 1, tl.sum(b, 0).to(tl.int64, bitcast=True))

    # The values named here change from call to call: a variant for each of them would be compiled.
    @triton.jit(do_not_specialize=["slot", "nbytes", "seed"])
    def _add_lanes(data, rows, slot, nbytes, seed, UNIT: tl.constexpr, BLOCK: tl.constexpr):
        """Add the lanes of one tensor to rows[slot]."""
        seed = tl.cast(seed, tl.int64).to(tl.uint64, bitcast=True)
        program = tl.program_id(0).to(tl.int64)
        step = tl.num_programs(0).to(tl.int64) * BLOCK
        row = rows + tl.cast(slot, tl.int64) * 2
        _add_words(data, row, tl.cast(nbytes, tl.int64), seed, program, step, UNIT, BLOCK)

    @triton.jit(do_not_specialize=["first"])
    def _add_lanes_of_many(table, rows, first, BLOCK: tl.constexpr):
        """Add those of the tensors of a table, int64[n, 3] of address, bytes and seed, to rows[first:]."""
        number = tl.program_id(1).to(tl.int64)
        nbytes = tl.load(table + number * 3 + 1)
        program = tl.program_id(0).to(tl.int64)
        if (program == 0) | (program * BLOCK < nbytes // 8):
            data = tl.load(table + number * 3).to(tl.pointer_type(tl.int64))
            seed = tl.load(table + number * 3 + 2).to(tl.uint64, bitcast=True)
            step = tl.num_programs(0).to(tl.int64) * BLOCK
            row = rows + (tl.cast(first, tl.int64) + number) * 2
            _add_words(data, row, nbytes, seed, program, step, 8, BLOCK)

    _INTEGERS = {8: tl.int64, 4: tl.int32, 2: tl.int16, 1: tl.int8}

    def _launch(t: torch.Tensor, rows: torch.Tensor, slot: int, seed: int) -> None:
        """Add the lanes of a contiguous tensor to rows[slot] (int64[n, 2]), on the current stream."""
        nbytes = t.nbytes
        address = t.data_ptr()
        unit = next(size for size in (8, 4, 2, 1) if address % size == 0)
        programs = _count_programs(nbytes, _PROGRAMS)
        data = triton.reinterpret(t, _INTEGERS[unit])
        _add_lanes[(programs,)](data, rows, slot, nbytes, read_signed(seed), UNIT=unit, BLOCK=_BLOCK)

    def _count_programs(nbytes: int, most: int) -> int:
        return min(max(1, -(-nbytes // (8 * _BLOCK))), most)

    def _launch_many(table: torch.Tensor, rows: torch.Tensor, first: int, largest: int) -> None:
        """Add the lanes of the tensors of a table to rows[first:]; the largest one has so many bytes."""
        grid = (_count_programs(largest, _PROGRAMS_OF_MANY), len(table))
        _add_lanes_of_many[grid](table, rows, first, BLOCK=_BLOCK)

    launch = _launch
    launch_many = _launch_many
