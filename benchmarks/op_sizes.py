"""Arguments of the operations in the sizes that trainings have: what `bench_ops.py --scale full` times.

The examples of the operations' own files are small, so that a test of a thousand runs is short; what is
compared there is mostly how many kernels are launched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from samerun.ops import Implementation

Arguments = tuple[Any, ...]


def make_arguments(one: Implementation, device: torch.device) -> Arguments:
    """The arguments of the first overload of an operation, of the sizes of a training."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.device(device):
        torch.manual_seed(0)
        return _SIZES[one.name]()


def _average_2d() -> Arguments:  # DenseNet on images of 960 × 960
    return torch.randn(64, 512, 7, 7), torch.randn(64, 512, 30, 30)


def _average_3d() -> Arguments:
    return torch.randn(8, 64, 3, 7, 7), torch.randn(8, 64, 16, 56, 56)


def _sliding_average_3d() -> Arguments:
    grad = torch.randn(4, 64, 32, 32, 32)
    return grad, torch.randn(4, 64, 64, 64, 64), [3] * 3, [2] * 3, [1] * 3, False, True, None


def _ctc() -> Arguments:  # DeepSpeech: characters
    log_probs = torch.randn(400, 32, 40).log_softmax(2)
    targets = torch.randint(1, 40, (32, 60))
    lengths = [400 - 3 * i for i in range(32)], [60 - i for i in range(32)]
    loss, alpha = torch.ops.aten._ctc_loss(log_probs, targets, *lengths, 0)
    return torch.ones(32), log_probs, targets, *lengths, loss, alpha, 0


def _deformable() -> Arguments:
    offset, mask = torch.randn(8, 18, 96, 96), torch.ones(8, 9, 96, 96)
    input, weight = torch.randn(8, 64, 96, 96), torch.randn(64, 64, 3, 3)
    grad = torch.randn(8, 64, 96, 96)
    return grad, input, weight, offset, mask, torch.randn(64), 1, 1, 1, 1, 1, 1, 1, 1, True


def _embedding_bag() -> Arguments:
    weights, indices = torch.randn(100_000, 128), torch.randint(100_000, (200_000,))
    offsets = torch.arange(0, 200_000, 20)
    output, bags, sizes, maxima = torch.ops.aten._embedding_bag(weights, indices, offsets, False, 2)
    return torch.randn_like(output), indices, bags, sizes, maxima, 100_000, False, 2, None


def _index_put() -> Arguments:
    return torch.zeros(20_000, 128), [torch.randint(20_000, (400_000,))], torch.randn(400_000, 128), True


def _scan() -> Arguments:
    return 1 + torch.randn(1 << 22) / 1000, 0


def _regions(count: int, images: int, side: float) -> torch.Tensor:
    corners = (torch.rand(count, 2, 2).sort(1).values * side).view(count, 4)
    return torch.cat([(torch.arange(count) % images).unsqueeze(1), corners], 1)


def _roi_align() -> Arguments:  # the finest level of a feature pyramid
    grad, rois = torch.randn(1024, 256, 7, 7), _regions(1024, 2, 800)
    rois[:, 3:] = rois[:, 1:3] + (rois[:, 3:] - rois[:, 1:3]).clamp(max=112)
    return grad, rois, 0.25, 7, 7, 2, 256, 200, 200, 2, True


def _roi_pool() -> Arguments:  # Fast R-CNN on VGG
    rois, input = _regions(256, 2, 800), torch.randn(2, 512, 50, 50)
    output, argmax = torch.ops.torchvision.roi_pool(input, rois, 1 / 16, 7, 7)
    return torch.randn_like(output), rois, argmax, 1 / 16, 7, 7, 2, 512, 50, 50


def _ps_roi_align() -> Arguments:  # R-FCN
    rois, input = _regions(256, 2, 800), torch.randn(2, 21 * 49, 50, 50)
    output, mapping = torch.ops.torchvision.ps_roi_align(input, rois, 1 / 16, 7, 7, 2)
    return torch.randn_like(output), rois, mapping, 1 / 16, 7, 7, 2, 2, 21 * 49, 50, 50


def _ps_roi_pool() -> Arguments:
    rois, input = _regions(256, 2, 800), torch.randn(2, 21 * 49, 50, 50)
    output, mapping = torch.ops.torchvision.ps_roi_pool(input, rois, 1 / 16, 7, 7)
    return torch.randn_like(output), rois, mapping, 1 / 16, 7, 7, 2, 21 * 49, 50, 50


def _flash() -> Arguments:
    query, key, value, grad = (torch.randn(8, 12, 1024, 64, dtype=torch.bfloat16) for _ in range(4))
    found = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, True)
    output, logsumexp, ends_q, ends_k, most_q, most_k, seed, offset, _ = found
    kept = output, logsumexp, ends_q, ends_k, most_q, most_k
    return grad, query, key, value, *kept, 0.0, True, seed, offset


def _efficient() -> Arguments:
    query, key, value, grad = (torch.randn(8, 12, 1024, 64) for _ in range(4))
    attend = torch.ops.aten._scaled_dot_product_efficient_attention
    output, logsumexp, seed, offset = attend(query, key, value, None, True, 0.0, True)
    mask = [True, True, True, False]
    return grad, query, key, value, None, output, logsumexp, seed, offset, 0.0, mask, True


def _resampled(batch: int, channels: int, sizes: list[int], outputs: list[int]) -> Callable[[], Arguments]:
    def make() -> Arguments:
        grad = torch.randn(batch, channels, *outputs)
        return grad, outputs, [batch, channels, *sizes], False, *[None] * len(sizes)

    return make


def _adaptive_max(shape: tuple[int, ...], outputs: tuple[int, ...]) -> Callable[[], Arguments]:
    def make() -> Arguments:
        self = torch.randn(shape)
        pool = F.adaptive_max_pool2d if len(outputs) == 2 else F.adaptive_max_pool3d
        output, indices = pool(self, outputs, return_indices=True)
        return torch.randn_like(output), self, indices

    return make


def _sliding_max_3d() -> Arguments:
    self, geometry = torch.randn(8, 64, 32, 56, 56), ([3] * 3, [2] * 3, [1] * 3, [1] * 3, False)
    output, indices = torch.ops.aten.max_pool3d_with_indices(self, *geometry)
    return torch.randn_like(output), self, *geometry, indices


def _fractional(shape: tuple[int, ...], outputs: list[int]) -> Callable[[], Arguments]:
    def make() -> Arguments:
        dims = len(outputs)
        self, samples = torch.randn(shape), torch.rand(*shape[:2], dims)
        pool = getattr(torch.ops.aten, f"fractional_max_pool{dims}d")
        output, indices = pool(self, [2] * dims, outputs, samples)
        return torch.randn_like(output), self, [2] * dims, outputs, indices

    return make


def _unpooled(shape: tuple[int, ...]) -> Callable[[], Arguments]:  # SegNet
    def make() -> Arguments:
        dims = len(shape) - 2
        pool = F.max_pool2d if dims == 2 else F.max_pool3d
        self, indices = pool(torch.randn(shape), 2, return_indices=True)
        return self, indices, list(shape[2:]), *(([2] * 3, [0] * 3) if dims == 3 else ())

    return make


def _grid_2d() -> Arguments:  # a spatial transformer
    whole = F.affine_grid(torch.eye(2, 3) + torch.randn(32, 2, 3) / 10, [32, 64, 128, 128], False)
    return torch.randn(32, 64, 128, 128), torch.randn(32, 64, 128, 128), whole, 0, 0, False, [True, True]


def _grid_cudnn() -> Arguments:
    grad, self, grid, *_ = _grid_2d()
    return self, grid, grad


def _grid_3d() -> Arguments:
    whole = F.affine_grid(torch.eye(3, 4) + torch.randn(2, 3, 4) / 10, [2, 32, 48, 48, 48], False)
    return torch.randn(2, 32, 48, 48, 48), torch.randn(2, 32, 48, 48, 48), whole, 0, 0, False, [True, True]


def _index_reduce() -> Arguments:
    index, source = torch.randint(20_000, (400_000,)), torch.randn(400_000, 128)
    return torch.randn(20_000, 128), 0, index, source, "mean"


def _put() -> Arguments:
    return torch.zeros(1000, 5000), torch.randint(5_000_000, (1_000_000,)), torch.randn(1_000_000), True


def _scattered() -> Arguments:
    index = torch.randint(20_000, (400_000, 64))
    return torch.randn(20_000, 64), 0, index, 1 + torch.randn(400_000, 64) / 100


def _padded(shape: tuple[int, ...], pad: int) -> Callable[[], Arguments]:
    def make() -> Arguments:
        outer = [size + 2 * pad for size in shape[2:]]
        return torch.randn(*shape[:2], *outer), torch.randn(shape), [pad] * 2 * len(outer)

    return make


def _segmentation() -> Arguments:
    return torch.randn(8, 21, 512, 512).log_softmax(1), torch.randint(21, (8, 512, 512)), None, 1, -100


def _medians() -> Arguments:
    return torch.randn(4096, 4096), 1


_SIZES: dict[str, Callable[[], Arguments]] = {
    "_adaptive_avg_pool2d_backward": _average_2d,
    "_adaptive_avg_pool3d_backward": _average_3d,
    "_ctc_loss_backward": _ctc,
    "_deform_conv2d_backward": _deformable,
    "_embedding_bag_dense_backward": _embedding_bag,
    "_index_put_impl_": _index_put,
    "_logcumsumexp": _scan,
    "_ps_roi_align_backward": _ps_roi_align,
    "_ps_roi_pool_backward": _ps_roi_pool,
    "_roi_align_backward": _roi_align,
    "_roi_pool_backward": _roi_pool,
    "_scaled_dot_product_efficient_attention_backward": _efficient,
    "_scaled_dot_product_flash_attention_backward": _flash,
    "_upsample_bicubic2d_aa_backward": _resampled(16, 3, [512, 512], [224, 224]),
    "_upsample_bilinear2d_aa_backward": _resampled(16, 3, [512, 512], [224, 224]),
    "adaptive_max_pool2d_backward": _adaptive_max((64, 256, 30, 30), (7, 7)),
    "adaptive_max_pool3d_backward": _adaptive_max((8, 64, 16, 56, 56), (3, 7, 7)),
    "avg_pool3d_backward": _sliding_average_3d,
    "bincount": lambda: (torch.randint(1000, (1 << 22,)), torch.randn(1 << 22)),
    "cudnn_grid_sampler_backward": _grid_cudnn,
    "cumprod": _scan,
    "fractional_max_pool2d_backward": _fractional((64, 64, 112, 112), [79, 79]),
    "fractional_max_pool3d_backward": _fractional((4, 32, 16, 56, 56), [11, 39, 39]),
    "grid_sampler_2d_backward": _grid_2d,
    "grid_sampler_3d_backward": _grid_3d,
    "histc": lambda: (torch.randn(1 << 22), 100, -3, 3),
    "index_reduce": _index_reduce,
    "max_pool3d_with_indices_backward": _sliding_max_3d,
    "max_unpool2d": _unpooled((16, 64, 224, 224)),
    "max_unpool3d": _unpooled((2, 32, 32, 112, 112)),
    "median": _medians,
    "nanmedian": _medians,
    "nll_loss2d_forward": _segmentation,
    "put_": _put,
    "reflection_pad1d_backward": _padded((16, 256, 16_000), 3),
    "reflection_pad3d_backward": _padded((4, 32, 32, 64, 64), 1),
    "replication_pad1d_backward": _padded((16, 256, 16_000), 3),
    "replication_pad2d_backward": _padded((16, 64, 128, 128), 1),
    "replication_pad3d_backward": _padded((4, 32, 32, 64, 64), 1),
    "scatter": _scattered,
    "scatter_reduce": lambda: (*_scattered(), "prod"),
    "upsample_bicubic2d_backward": _resampled(16, 64, [128, 128], [256, 256]),
    "upsample_bilinear2d_backward": _resampled(8, 256, [64, 64], [128, 128]),
    "upsample_linear1d_backward": _resampled(16, 256, [4000], [8000]),
    "upsample_trilinear3d_backward": _resampled(4, 64, [16, 32, 32], [32, 64, 64]),
}
