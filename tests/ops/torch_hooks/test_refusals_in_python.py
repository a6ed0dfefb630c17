"""Every operation that torch refuses when it must be deterministic is one that samerun knows."""

from __future__ import annotations

import platform

import pytest

from samerun.ops import implementations

from ..scan_alerts import installed_alerts

# What torch may refuse still, and why that is so.
LEFT = {
    "quantized_resize_cpu_": "the tail of a quantized tensor that grows is uninitialised: nothing to repeat",
    "scatter_cuda_": "torch itself takes the way of index_put_ when it must be deterministic",
}
# What the scan finds in torch 2.15.0 for CUDA 13.2, from PyPI: 42 calls in libtorch_cuda.so.
ON_CUDA = """
_bincount_cuda
_histc_cuda with floating point input
adaptive_avg_pool2d_backward_cuda
adaptive_avg_pool2d_backward_out_cuda
adaptive_avg_pool3d_backward_cuda
adaptive_avg_pool3d_backward_out_cuda
adaptive_max_pool2d_backward_cuda
avg_pool3d_backward_cuda
ctc_loss_backward_gpu
cudnn_grid_sampler_backward
embedding_bag_backward_cuda_max
fractional_max_pool2d_backward_cuda
fractional_max_pool3d_backward_cuda
fractional_max_pool3d_backward_out_cuda
grid_sampler_2d_backward_cuda
grid_sampler_3d_backward_cuda
index_reduce_cuda
max_pool3d_with_indices_backward_cuda
max_pool3d_with_indices_backward_out_cuda
max_unpooling2d_forward_out
max_unpooling3d_forward_out
median CUDA with indices output
nll_loss2d_forward_out_cuda_template
reflection_pad1d_backward_out_cuda
reflection_pad3d_backward_out_cuda
replication_pad1d_backward_cuda
replication_pad2d_backward_cuda
replication_pad2d_backward_out_cuda
replication_pad3d_backward_cuda
replication_pad3d_backward_out_cuda
scatter_cuda_
scatter_reduce_cuda_kernel
scatter_reduce_cuda_prod_
upsample_bicubic2d_aa_backward_out_cuda
upsample_bicubic2d_backward_out_cuda
upsample_bilinear2d_aa_backward_out_cuda
upsample_bilinear2d_backward_out_cuda
upsample_linear1d_backward_out_cuda
upsample_trilinear3d_backward_out_cuda
""".strip().splitlines()
# What torchvision 0.28 refuses, by the names of its CUDA kernels; not scanned here.
OF_TORCHVISION = """
compute_grad_input
ps_roi_align_backward_kernel
ps_roi_pool_backward_kernel
roi_align_backward_kernel
roi_pool_backward_kernel
""".strip().splitlines()


def known() -> set[str]:
    return {alert for one in implementations().values() for alert in one.alerts} | LEFT.keys()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the scan reads x86-64 machine code")
def test_samerun_knows_what_the_installed_torch_refuses():
    found = installed_alerts()
    assert {"put_", "median CUDA with indices output"} <= found
    assert not found - known(), "torch refuses operations that no file under samerun/ops knows"


def test_samerun_knows_what_torch_refuses_on_cuda():
    assert not {*ON_CUDA, *OF_TORCHVISION} - known()


def test_no_refusal_is_known_that_torch_does_not_have():
    """A name that is misspelt would be refused still."""
    assert known() - LEFT.keys() <= {*ON_CUDA, *OF_TORCHVISION, "put_", "_histc_cuda"}
