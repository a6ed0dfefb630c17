"""The gathers of _bands.py, all dimensions at once, as one Triton kernel: each result is written once.

The torch operations of _bands.py go dimension by dimension and read each gradient once for every tap of
each. Here a program holds its results in registers and reads what they need, most of it from the cache.
"""
# In a kernel annotations are part of Triton's language, so its functions have no types.
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from samerun.ops.engines.bands import Band, Cells, divide_by_cells
from samerun.ops.engines.triton_probe import launch_on

_BLOCK = 256  # results of a program
_MOST = 64  # taps of all dimensions together; with more it is faster to go dimension by dimension


# The sizes change with each layer: a variant for each of them would be compiled.
@triton.jit(do_not_specialize=["count", "I0", "I1", "I2", "O0", "O1", "O2"])
def _gather_taps(
    source,
    result,
    names,
    outs0,
    outs1,
    outs2,
    weights0,
    weights1,
    weights2,
    cells0,
    cells1,
    cells2,
    count,
    I0,
    I1,
    I2,
    O0,
    O1,
    O2,
    INNER,
    K0: tl.constexpr,
    K1: tl.constexpr,
    K2: tl.constexpr,
    WEIGHTED: tl.constexpr,
    DIVIDED: tl.constexpr,
    NAMED: tl.constexpr,
    WIDE: tl.constexpr,
    DOUBLE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """result[outer, I0, I1, I2, INNER] from source[outer, O0, O1, O2, INNER], in ascending order of taps.

    outs: int32[K, I], -1 for no tap; weights: float[K, I]; cells: float[O], by whose product is divided;
    names: int64, of the shape of source: the place of the only result that a value is added to.
    """
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WIDE:
        index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    inner = index % INNER
    rest = index // INNER
    i2 = rest % I2
    rest = rest // I2
    i1 = rest % I1
    rest = rest // I1
    i0 = rest % I0
    outer = rest // I0
    place = (i0 * I1 + i1) * I2 + i2
    if DOUBLE:
        total = tl.zeros((BLOCK,), tl.float64)
    else:
        total = tl.zeros((BLOCK,), tl.float32)
    for k0 in range(K0):
        o0 = tl.load(outs0 + k0 * I0 + i0, mask=inside, other=-1)
        for k1 in range(K1):
            o1 = tl.load(outs1 + k1 * I1 + i1, mask=inside, other=-1)
            for k2 in range(K2):
                o2 = tl.load(outs2 + k2 * I2 + i2, mask=inside, other=-1)
                there = inside & (o0 >= 0) & (o1 >= 0) & (o2 >= 0)
                at = (((outer * O0 + o0) * O1 + o1) * O2 + o2) * INNER + inner
                value = tl.load(source + at, mask=there, other=0).to(total.dtype)
                if DIVIDED:
                    cells = tl.load(cells0 + o0, mask=there, other=1)
                    cells *= tl.load(cells1 + o1, mask=there, other=1)
                    cells *= tl.load(cells2 + o2, mask=there, other=1)
                    value = value / cells
                if WEIGHTED:
                    weight = tl.load(weights0 + k0 * I0 + i0, mask=there, other=0)
                    weight *= tl.load(weights1 + k1 * I1 + i1, mask=there, other=0)
                    weight *= tl.load(weights2 + k2 * I2 + i2, mask=there, other=0)
                    value = value * weight
                if NAMED:
                    name = tl.load(names + at, mask=there, other=-1)
                    value = tl.where(name == place, value, 0)
                total += value
    tl.store(result + index, total.to(result.dtype.element_ty), mask=inside)


def gather(
    t: torch.Tensor, bands: Sequence[Band], cells: Cells = None, names: torch.Tensor | None = None
) -> torch.Tensor:
    """What _bands.gather and, with names, _bands.gather_named give; channels last from what has them last."""
    dims = len(bands)
    last = t.dim() == dims + 2 and not t.is_contiguous() and _is_channels_last(t)
    if last:
        t, names = t.movedim(1, -1), None if names is None else names.movedim(1, -1)
    t, names = t.contiguous(), None if names is None else names.contiguous()
    first = t.dim() - dims - last  # the first dimension that has a band
    if names is None and dims > 1 and math.prod(len(one.taps) for one in bands) > _MOST:
        dtype, t = t.dtype, divide_by_cells(t, cells, first)
        for dim in range(first + dims - 1, first - 1, -1):
            t = _pass(t, dim, bands[dim - first : dim - first + 1], t.dtype if dim > first else dtype)
    else:
        t = _pass(t, first, bands, t.dtype, cells, names)
    return t.movedim(-1, 1) if last else t


def _pass(
    t: torch.Tensor,
    first: int,
    bands: Sequence[Band],
    dtype: torch.dtype,
    cells: Cells = None,
    names: torch.Tensor | None = None,
) -> torch.Tensor:
    """One launch, along the dimensions from `first` on; the result has this dtype."""
    lead, outputs, tail = t.shape[:first], t.shape[first : first + len(bands)], t.shape[first + len(bands) :]
    inputs = [one.inputs for one in bands]
    result = t.new_empty((*lead, *inputs, *tail), dtype=dtype)
    count = result.numel()
    if not count or not all(band.taps for band in bands):
        return result.zero_()
    exact = torch.float64 if t.dtype == torch.float64 else torch.float32
    missing = 3 - len(bands)
    none, one = _make_single_table(t.device, torch.int32, 0), _make_single_table(t.device, exact, 1)
    outs = [none] * missing + [band.table for band in bands]
    weights = [band.weights for band in bands]
    known = [weight for weight in weights if weight is not None]
    with launch_on(t.device):
        _gather_taps[(-(-count // _BLOCK),)](
            t,
            result,
            t if names is None else names,
            *outs,
            *([one] * missing + known if known else [t] * 3),
            *([one] * missing + list(cells) if cells is not None else [t] * 3),
            count,
            *([1] * missing + inputs),
            *([1] * missing + list(outputs)),
            math.prod(tail),
            K0=outs[0].shape[0],
            K1=outs[1].shape[0],
            K2=outs[2].shape[0],
            WEIGHTED=bool(known),
            DIVIDED=cells is not None,
            NAMED=names is not None,
            WIDE=max(count, t.numel()) > 2**30,
            DOUBLE=exact == torch.float64,
            BLOCK=_BLOCK,
        )
    return result


@functools.lru_cache(maxsize=64)
def _make_single_table(device: torch.device, dtype: torch.dtype, value: int) -> torch.Tensor:
    """The table of a dimension of one cell: [1, 1]."""
    with torch.inference_mode(False):
        return torch.full((1, 1), value, dtype=dtype, device=device)


def _is_channels_last(t: torch.Tensor) -> bool:
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return t.dim() in formats and t.is_contiguous(memory_format=formats[t.dim()])
