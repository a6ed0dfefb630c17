"""Arguments for every operation: the shapes, sizes, modes and borders that its formula tells apart.

Each function of GRIDS yields arguments in float64 (and keyword arguments where it yields a pair). `quick`
is a part of them, of which every kind of value occurs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F

Args = tuple[Any, ...]


def randn(*shape: int) -> torch.Tensor:
    seed = sum(size * 31**at for at, size in enumerate(shape))
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def randint(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(high))


def avg_pool3d() -> Iterator[Args]:
    for shape, kernel, stride, padding, ceil, counted, divisor in itertools.product(
        [(2, 3, 7, 8, 9), (3, 5, 6, 7), (1, 2, 4, 4, 4)],
        [[2, 2, 2], [3, 2, 4], [1, 1, 1]],
        [[], [1, 1, 1], [2, 1, 3], [4, 4, 4]],
        [[0, 0, 0], [1, 1, 1]],
        [False, True],
        [False, True],
        [None, 3],
    ):
        if all(2 * p <= k for p, k in zip(padding, kernel, strict=True)):
            geometry = kernel, stride, padding, ceil, counted, divisor
            self = randn(*shape)
            output = torch.ops.aten.avg_pool3d(self, *geometry)
            yield randn(*output.shape), self, *geometry


def adaptive_avg(dims: int) -> Iterator[Args]:
    for self, sizes in _adaptive(dims):
        yield randn(*self.shape[:-dims], *sizes), self


def adaptive_max(dims: int) -> Iterator[Args]:
    for self, sizes in _adaptive(dims):
        pool = F.adaptive_max_pool2d if dims == 2 else F.adaptive_max_pool3d
        output, places = pool(self, sizes, return_indices=True)
        yield randn(*output.shape), self, places


def _adaptive(dims: int) -> Iterator[tuple[torch.Tensor, list[int]]]:
    sizes = [[1] * dims, [3, 5, 2][:dims], [7, 6, 8][-dims:], [9, 11, 10][-dims:], [4] * dims]
    for lead, size in itertools.product([(2, 3), (3,), (0, 3)], sizes):
        yield randn(*lead, *(7, 6, 8)[-dims:]), size


def max_pool3d() -> Iterator[Args]:
    for shape, kernel, stride, padding, dilation, ceil in itertools.product(
        [(2, 3, 9, 8, 9), (3, 7, 7, 8)],
        [[2, 2, 2], [3, 2, 3]],
        [[], [1, 1, 1], [2, 1, 3]],
        [[0, 0, 0], [1, 1, 1]],
        [[1, 1, 1], [2, 2, 1]],
        [False, True],
    ):
        self = randn(*shape)
        geometry = kernel, stride, padding, dilation, ceil
        output, places = torch.ops.aten.max_pool3d_with_indices(self, *geometry)
        yield randn(*output.shape), self, *geometry, places
    self = torch.zeros(1, 1, 5, 5, 5, dtype=torch.float64)  # all equal: the first of each window
    geometry = [3, 3, 3], [1, 1, 1], [1, 1, 1], [1, 1, 1], False
    output, places = torch.ops.aten.max_pool3d_with_indices(self, *geometry)
    yield randn(*output.shape), self, *geometry, places


def fractional(dims: int) -> Iterator[Args]:
    pool = getattr(torch.ops.aten, f"fractional_max_pool{dims}d")
    for lead, kernel, size in itertools.product([(2, 3), (3,)], [1, 2, 3], [1, 3, 4]):
        self = randn(*lead, *(8, 9, 7)[-dims:])
        samples = randn(2 if len(lead) == 2 else 1, 3, dims).sigmoid()
        output, places = pool(self, [kernel] * dims, [size] * dims, samples)
        yield randn(*output.shape), self, [kernel] * dims, [size] * dims, places


def pads(kind: str, dims: int) -> Iterator[Args]:
    sizes = (6, 5, 7)[-dims:]
    widths = [(0, 0), (1, 0), (0, 3), (2, 4), (4, 1)]
    if kind == "replication":
        widths += [(9, 12), (-1, 3), (2, -2), (-1, -1)]
    for lead, chosen in itertools.product([(2, 3), (3,)], itertools.product(widths, repeat=min(dims, 2))):
        padding = [pad for pair in (chosen * 3)[:dims] for pad in pair]
        outputs = [s + padding[2 * b] + padding[2 * b + 1] for b, s in enumerate(reversed(sizes))][::-1]
        yield randn(*lead, *outputs), randn(*lead, *sizes), padding


def interpolation(dims: int) -> Iterator[Args]:
    pairs = [(5, 9), (9, 5), (7, 7), (1, 6), (6, 1), (4, 64), (64, 3), (13, 12)]
    for pair, other, align, scaled in itertools.product(pairs, pairs[:3], [False, True], [False, True]):
        chosen = [pair, other, (3, 5)][:dims]
        inputs, outputs = [i for i, _ in chosen], [o for _, o in chosen]
        factors = [o / i * 1.03 if scaled else None for i, o in chosen]
        if scaled:
            outputs = [int(i * f) for i, f in zip(inputs, factors, strict=True)]
        if all(outputs):
            yield randn(2, 3, *outputs), outputs, [2, 3, *inputs], align, *factors


def grids(dims: int) -> Iterator[Args]:
    cells, places = (6, 5, 7)[-dims:], (4, 8, 3)[-dims:]
    modes = [0, 1, 2] if dims == 2 else [0, 1]
    for mode, padding, align, reach in itertools.product(modes, [0, 1, 2], [False, True], [0.9, 3.0]):
        grid = randn(2, *places, dims) * reach
        yield randn(2, 3, *places), randn(2, 3, *cells), grid, mode, padding, align, [True, True]
    for align in (False, True):  # on the very border, and all in one cell
        edge = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
        grid = torch.cartesian_prod(*[edge] * dims).view(1, *[3] * dims, dims)
        yield randn(1, 2, *[3] * dims), randn(1, 2, *cells), grid, 0, 0, align, [True, True]
        yield (
            randn(1, 2, *places),
            randn(1, 2, *cells),
            torch.zeros(1, *places, dims).double(),
            0,
            0,
            align,
            [True, True],
        )
    yield randn(2, 3, *places), randn(2, 3, *[1] * dims), randn(2, *places, dims), 0, 2, True, [True, True]
    yield randn(2, 3, *places), randn(2, 3, *cells), randn(2, *places, dims), 0, 0, False, [False, True]


def nll_loss2d() -> Iterator[Args]:
    for shape, weighted, reduction, ignored in itertools.product(
        [(2, 5, 7, 6), (1, 1, 1, 1), (3, 4, 33, 31), (2, 5, 0, 6)], [False, True], [0, 1, 2], [-100, 2]
    ):
        count, classes, *places = shape
        target = randint(classes, count, *places)
        if target.numel() > 3:
            target.view(-1)[:2] = ignored
        weight = randn(classes).abs() if weighted else None
        yield randn(*shape).log_softmax(1), target, weight, reduction, ignored


def histc() -> Iterator[Args]:
    values = randn(1000)
    odd = values.clone()
    odd[:3] = torch.tensor([float("nan"), float("inf"), -float("inf")])
    for self, bins, (low, high) in itertools.product(
        [values, values.view(10, 100), values[:1], values[:0], torch.ones(7).double()],
        [1, 7, 100],
        [(0, 0), (-1, 2), (-3.0, 3.0), (1, 1)],
    ):
        yield self, bins, low, high
    yield odd, 10, -1, 1
    yield torch.linspace(0, 1, 11).double(), 10, 0, 1


def bincount() -> Iterator[Args]:
    for count, high, least in itertools.product([1, 2, 100, 3000], [1, 7, 400], [0, 500]):
        yield randint(high, count), randn(count), least
    yield randint(5, 0), randn(0), 3
    yield randint(9, 50).to(torch.uint8), randn(50), 0


def medians() -> Iterator[Args]:
    odd = randn(4, 5, 6)
    odd[0, 0, :2] = float("nan")
    odd[1, :, 0] = float("nan")
    yield from itertools.product(
        [randn(4, 5, 6), odd, randint(3, 4, 5, 6).double(), randn(7, 1), randn(0, 4)], [1, -1], [False, True]
    )
    yield randn(), 0, False
    yield randn(9), 0, True


def unpool(dims: int) -> Iterator[Args]:
    geometry = ([1, 1, 1], [0, 0, 0]) if dims == 3 else ()
    for lead, outputs in itertools.product([(2, 3), (3,)], [(5, 6, 7), (1, 1, 1), (9, 3, 4)]):
        sizes = [4, 3, 5][:dims]
        cells = torch.Size(outputs[:dims]).numel()
        yield randn(*lead, *sizes), randint(cells, *lead, *sizes), list(outputs[:dims]), *geometry
    if dims == 2:
        yield randn(0, 3, 4, 4), randint(4, 0, 3, 4, 4), [5, 5]


def index_put() -> Iterator[Args]:
    large, wide = randn(300, 40), randn(50, 60, 8)
    mask = randn(300) > 0
    for accumulate in (True, False):
        yield large, [randint(300, 2000)], randn(2000, 40), accumulate
        yield large, [randint(300, 2000) - 300], randn(40), accumulate
        yield large, [None, randint(40, 900)], randn(300, 900), accumulate
        yield large, [randint(300, 50_000), randint(40, 50_000)], randn(50_000), accumulate
        yield large, [randint(300, 40_000, 1), randint(40, 2)], randn(1, 2), accumulate
        yield large, [mask], randn(int(mask.sum()), 40), accumulate
        yield large, [large > 0], randn(1)[0], accumulate
        yield wide, [randint(50, 700), None, randint(8, 700)], randn(700, 60), accumulate
        yield wide, [None, randint(60, 30, 7), randint(8, 7)], randn(50, 30, 7), accumulate
        yield wide, [randint(50, 20, 5)], randn(20, 5, 60, 8), accumulate
        yield wide.permute(2, 0, 1), [None, randint(50, 900)], randn(8, 900, 60), accumulate
        yield wide[::2, :, ::2], [randint(25, 900), randint(60, 900)], randn(900, 4), accumulate
        yield large[:, 0], [randint(300, 40_000)], randn(40_000), accumulate
        yield large, [randint(300, 5)], randn(5, 40), accumulate
        yield large, [randint(300, 0)], randn(0, 40), accumulate
        yield large, [randint(300, 2000).int()], randn(2000, 40), accumulate


def put() -> Iterator[Args]:
    for accumulate, self in itertools.product((True, False), (randn(7, 9), randn(9, 7).t(), randn(63)[::1])):
        yield self, randint(63, 500) - 20, randn(500), accumulate
        yield self, randint(63, 4, 5), randn(4, 5), accumulate
        yield self, randint(63, 0), randn(0), accumulate


def scatter_reduce() -> Iterator[Any]:
    for reduce, itself in itertools.product(("prod", "sum", "amax", "mean"), (True, False)):
        kept = {"include_self": itself}
        yield (randn(5, 6), 0, randint(5, 40, 6), randn(40, 6), reduce), kept
        yield (randn(5, 6), 1, randint(6, 3, 9), randn(5, 20), reduce), kept
        yield (randn(5, 4, 3), -2, randint(4, 5, 7, 2), randn(5, 9, 3), reduce), kept
        yield (randn(), 0, randint(1, 4), randn(4), reduce), kept
        yield (randn(5, 6), 0, randint(5, 0, 6), randn(0, 6), reduce), kept
        yield (randn(6, 5).t(), 0, randint(5, 40, 6), randn(40, 6), reduce), kept


def scatter() -> Iterator[Any]:
    for reduce in ("multiply", "add"):
        yield (randn(5, 6), 0, randint(5, 40, 6), randn(40, 6)), {"reduce": reduce}
        yield (randn(5, 6), 1, randint(6, 3, 9), randn(5, 20)), {"reduce": reduce}


def index_reduce() -> Iterator[Any]:
    for reduce, itself in itertools.product(("prod", "mean", "amin", "amax"), (True, False)):
        kept = {"include_self": itself}
        yield (randn(7, 6), 0, randint(7, 40), randn(40, 6), reduce), kept
        yield (randn(5, 7, 4), 1, randint(7, 30), randn(5, 30, 4), reduce), kept
        yield (randn(7), -1, randint(5, 30), randn(30), reduce), kept
        yield (randn(4, 7).t(), 0, randint(7, 9), randn(9, 4), reduce), kept
        yield (randn(7, 6), 0, randint(7, 0), randn(0, 6), reduce), kept


def embedding_bag() -> Iterator[Args]:
    for mode, per_bag in itertools.product((2, 0, 1), (1, 3, 10)):
        weights, indices = randn(20, 6), randint(20, 90)
        offsets = torch.arange(0, 90, per_bag)
        offsets[1:3] = offsets[1].clone()  # a bag without entries
        output, bags, sizes, maxima = torch.ops.aten._embedding_bag(weights, indices, offsets, False, mode)
        yield randn(*output.shape), indices, bags, sizes, maxima, 20, False, mode, None


def ctc() -> Iterator[Args]:
    for joined, zero, (times, states) in itertools.product(
        (False, True),
        (False, True),
        (([9, 9, 9], [4, 4, 4]), ([9, 6, 7], [4, 0, 2]), ([9, 2, 1], [4, 4, 1]), ([5, 1, 3], [1, 1, 1])),
    ):
        log_probs = randn(9, 3, 5).log_softmax(2)
        targets = 1 + randint(3, 3, 4)
        targets[0] = targets[0, 0]  # the same label again and again
        if joined:
            targets = torch.cat([row[:count] for row, count in zip(targets, states, strict=True)])
        loss, alpha = torch.ops.aten._ctc_loss(log_probs, targets, times, states, 0, zero)
        yield randn(3), log_probs, targets, times, states, loss, alpha, 0, zero


def scans(near: float) -> Iterator[Args]:
    for shape, dim in (
        ((5000,), 0),
        ((1, 3000), 1),
        ((1024,), 0),
        ((1025,), -1),
        ((1,), 0),
        ((40, 30), 1),
        ((0,), 0),
    ):
        yield near + randn(*shape) / 50, dim


GRIDS: dict[str, Callable[[], Iterator[Any]]] = {
    "_adaptive_avg_pool2d_backward": lambda: adaptive_avg(2),
    "_adaptive_avg_pool3d_backward": lambda: adaptive_avg(3),
    "_ctc_loss_backward": ctc,
    "_embedding_bag_dense_backward": embedding_bag,
    "_index_put_impl_": index_put,
    "_logcumsumexp": lambda: scans(0),
    "_upsample_bicubic2d_aa_backward": lambda: interpolation(2),
    "_upsample_bilinear2d_aa_backward": lambda: interpolation(2),
    "adaptive_max_pool2d_backward": lambda: adaptive_max(2),
    "adaptive_max_pool3d_backward": lambda: adaptive_max(3),
    "avg_pool3d_backward": avg_pool3d,
    "bincount": bincount,
    "cumprod": lambda: scans(1),
    "fractional_max_pool2d_backward": lambda: fractional(2),
    "fractional_max_pool3d_backward": lambda: fractional(3),
    "grid_sampler_2d_backward": lambda: grids(2),
    "grid_sampler_3d_backward": lambda: grids(3),
    "histc": histc,
    "index_reduce": index_reduce,
    "max_pool3d_with_indices_backward": max_pool3d,
    "max_unpool2d": lambda: unpool(2),
    "max_unpool3d": lambda: unpool(3),
    "median": medians,
    "nanmedian": medians,
    "nll_loss2d_forward": nll_loss2d,
    "put_": put,
    "reflection_pad1d_backward": lambda: pads("reflection", 1),
    "reflection_pad3d_backward": lambda: pads("reflection", 3),
    "replication_pad1d_backward": lambda: pads("replication", 1),
    "replication_pad2d_backward": lambda: pads("replication", 2),
    "replication_pad3d_backward": lambda: pads("replication", 3),
    "scatter": scatter,
    "scatter_reduce": scatter_reduce,
    "upsample_bicubic2d_backward": lambda: interpolation(2),
    "upsample_bilinear2d_backward": lambda: interpolation(2),
    "upsample_linear1d_backward": lambda: interpolation(1),
    "upsample_trilinear3d_backward": lambda: interpolation(3),
}


def cases(name: str) -> Iterator[tuple[Args, dict[str, Any]]]:
    """Arguments and keyword arguments."""
    for given in GRIDS[name]():
        yield given if len(given) == 2 and isinstance(given[1], dict) else (given, {})
