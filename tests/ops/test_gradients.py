"""Through autograd: torch's own samples, first and second derivatives, and values that are no numbers."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck, gradgradcheck

from samerun.ops import implementations

from .computing import compute, mapped, on_cpu
from .grids import GRIDS, cases

# OpInfo, by its name in torch.testing, and which of samerun's operations it reaches.
SAMPLES = {
    "nn.functional.adaptive_avg_pool1d": ["_adaptive_avg_pool2d_backward"],
    "nn.functional.adaptive_avg_pool2d": ["_adaptive_avg_pool2d_backward"],
    "nn.functional.adaptive_avg_pool3d": ["_adaptive_avg_pool3d_backward"],
    "nn.functional.adaptive_max_pool1d": ["adaptive_max_pool2d_backward"],
    "nn.functional.adaptive_max_pool2d": ["adaptive_max_pool2d_backward"],
    "nn.functional.adaptive_max_pool3d": ["adaptive_max_pool3d_backward"],
    "nn.functional.avg_pool3d": ["avg_pool3d_backward"],
    "nn.functional.max_pool3d": ["max_pool3d_with_indices_backward"],
    "nn.functional.max_unpool2d": ["max_unpool2d"],
    "nn.functional.max_unpool3d": ["max_unpool3d"],
    "nn.functional.interpolate": [name for name in GRIDS if "upsample" in name],
    "_upsample_bilinear2d_aa": ["_upsample_bilinear2d_aa_backward"],
    "nn.functional.grid_sample": ["grid_sampler_2d_backward", "grid_sampler_3d_backward"],
    "nn.functional.pad": [name for name in GRIDS if "_pad" in name],
    "nn.functional.nll_loss": ["nll_loss2d_forward"],
    "nn.functional.ctc_loss": ["_ctc_loss_backward"],
    "nn.functional.embedding_bag": ["_embedding_bag_dense_backward"],
    "put": ["put_"],
    "index_put": ["_index_put_impl_"],
    "scatter_reduce": ["scatter_reduce"],
    "index_reduce": ["index_reduce"],
    "histc": ["histc"],
    "bincount": ["bincount"],
    "median": ["median"],
    "nanmedian": ["nanmedian"],
    "cumprod": ["cumprod"],
    "logcumsumexp": ["_logcumsumexp"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLES)
def test_torchs_own_samples(name):
    """Result and gradients of every sample that torch tests itself with, in float64 and float32."""
    from torch.testing._internal.common_methods_invocations import op_db

    infos = [info for info in op_db if info.name == name]
    assert infos
    for info in infos:
        for dtype in (torch.float64, torch.float32):
            if dtype not in info.supported_dtypes("cpu"):
                continue
            if name == "nn.functional.ctc_loss" and dtype == torch.float32:
                continue  # torch's own is off by a thousandth there
            differentiable = info.supports_autograd
            for sample in info.sample_inputs("cpu", dtype, requires_grad=differentiable):
                args = (sample.input, *sample.args)
                expected = with_gradients(info.op, args, sample.kwargs)
                with on_cpu(*SAMPLES[name]):
                    found = with_gradients(info.op, args, sample.kwargs)
                for mine, theirs in zip(found, expected, strict=True):
                    if not (name in ("median", "nanmedian") and not theirs.is_floating_point()):
                        torch.testing.assert_close(mine, theirs, equal_nan=True)


def with_gradients(function, args, kwargs):
    leaves = [arg for arg in args if isinstance(arg, torch.Tensor) and arg.requires_grad and arg.is_leaf]
    result = function(*args, **kwargs)
    results = [
        t for t in (result if isinstance(result, (tuple, list)) else [result]) if isinstance(t, torch.Tensor)
    ]
    loss = sum(t.square().sum() for t in results if t.requires_grad)
    if not leaves or not isinstance(loss, torch.Tensor):
        return [t.detach() for t in results]
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [t.detach() for t in results] + [g for g in gradients if g is not None]


def x(*shape):
    generator = torch.Generator().manual_seed(len(shape))
    return torch.rand(shape, dtype=torch.float64, generator=generator, requires_grad=True)


GRID = torch.rand(1, 2, 3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(9)) * 1.6 - 0.8

DIFFERENTIATED = {
    "_adaptive_avg_pool2d_backward": lambda t: F.adaptive_avg_pool2d(t, (3, 2)),
    "_adaptive_avg_pool3d_backward": lambda t: F.adaptive_avg_pool3d(t.unsqueeze(1), (1, 3, 2)),
    "adaptive_max_pool2d_backward": lambda t: F.adaptive_max_pool2d(t, (3, 2)),
    "adaptive_max_pool3d_backward": lambda t: F.adaptive_max_pool3d(t.unsqueeze(1), (1, 3, 2)),
    "avg_pool3d_backward": lambda t: F.avg_pool3d(t.unsqueeze(1), (1, 2, 2), 1),
    "max_pool3d_with_indices_backward": lambda t: F.max_pool3d(t.unsqueeze(1), (1, 2, 2), 1),
    "reflection_pad1d_backward": lambda t: F.pad(t[0], (2, 1), mode="reflect"),
    "replication_pad1d_backward": lambda t: F.pad(t[0], (2, 1), mode="replicate"),
    "replication_pad2d_backward": lambda t: F.pad(t, (2, 1, 0, 3), mode="replicate"),
    "replication_pad3d_backward": lambda t: F.pad(t, (2, 1, 0, 3, 1, 1), mode="replicate"),
    "upsample_bilinear2d_backward": lambda t: F.interpolate(t, size=(5, 2), mode="bilinear"),
    "upsample_bicubic2d_backward": lambda t: F.interpolate(t, size=(5, 2), mode="bicubic"),
    "upsample_linear1d_backward": lambda t: F.interpolate(t[0], size=7, mode="linear", align_corners=True),
    "_index_put_impl_": lambda t: t[:, :, torch.tensor([0, 0, 2])],
    "put_": lambda t: torch.put(t * 1, torch.tensor([1, 1]), t[0, 0, 0, :2] * 2, accumulate=True),
    "nll_loss2d_forward": lambda t: F.nll_loss(t, torch.zeros(1, 4, 4, dtype=torch.int64)),
    "cumprod": lambda t: t.reshape(-1).cumprod(0),
    "_logcumsumexp": lambda t: t.reshape(-1).logcumsumexp(0),
    "median": lambda t: t.median(3).values,
}
ONCE = {
    "grid_sampler_2d_backward": lambda t: F.grid_sample(t, GRID, align_corners=False)
}  # torch has no second


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_first_and_second_derivatives(name):
    with on_cpu(name):
        given = x(1, 2, 4, 4)
        assert gradcheck(DIFFERENTIATED[name], given, fast_mode=True)
        assert gradgradcheck(DIFFERENTIATED[name], given, fast_mode=True)


@pytest.mark.parametrize("name", ONCE)
def test_first_derivatives(name):
    with on_cpu(name):
        assert gradcheck(ONCE[name], x(1, 2, 4, 4), fast_mode=True)


# Each gathers or adds gradients: what is no number must come out where torch lets it come out.
SPREADING = [
    name
    for name in GRIDS
    if ("backward" in name and "ctc" not in name and "grid" not in name)
    or name in ("_index_put_impl_", "put_")
]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")], ids=str)
@pytest.mark.parametrize("name", SPREADING)
def test_what_is_no_number_stays_where_it_is(name, value):
    one = implementations()[name]
    tried = 0
    for number, (args, options) in enumerate(cases(name)):
        if number % 9:
            continue
        if "upsample" in name and any(a == b for a, b in zip(args[1], args[2][2:], strict=True)):
            continue  # torch copies on CUDA; on the CPU 0 times infinity comes in
        narrow = mapped(args, lambda t: t.float())
        where = 2 if name in ("_index_put_impl_", "put_") else 0
        if narrow[where].numel() < 2:
            continue
        spoilt = narrow[where].contiguous().clone()
        spoilt.view(-1)[spoilt.numel() // 2] = value
        spoilt_args = (*narrow[:where], spoilt, *narrow[where + 1 :])
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        (expected,) = compute(one, spoilt_args, **options)
        torch.set_num_threads(before)
        with on_cpu(name):
            (found,) = compute(one, spoilt_args, **options)
        torch.testing.assert_close(found, expected, equal_nan=True, rtol=1e-4, atol=1e-4)
        tried += 1
    assert tried
