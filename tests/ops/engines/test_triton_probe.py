"""The Triton kernels, under Triton's interpreter, and through its compiler for a GPU that is not there.

Covers `bands_triton.py`, `ctc_triton.py`, `grid_samples_triton.py` and `segments_triton.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from samerun.ops.engines import triton_probe

TESTS = Path(__file__).parents[2]
GATHERED = [
    "_adaptive_avg_pool2d_backward",
    "_adaptive_avg_pool3d_backward",
    "_upsample_bicubic2d_aa_backward",
    "_upsample_bilinear2d_aa_backward",
    "adaptive_max_pool2d_backward",
    "adaptive_max_pool3d_backward",
    "avg_pool3d_backward",
    "max_pool3d_with_indices_backward",
    "upsample_bicubic2d_backward",
    "upsample_bilinear2d_backward",
    "upsample_linear1d_backward",
    "upsample_trilinear3d_backward",
]
SEGMENTED = [
    "_embedding_bag_dense_backward",
    "bincount",
    "fractional_max_pool2d_backward",
    "fractional_max_pool3d_backward",
    "grid_sampler_2d_backward",
    "grid_sampler_3d_backward",
    "index_reduce",
    "scatter",
    "scatter_reduce",
]

REGIONS = ["_deform_conv2d_backward", "_roi_align_backward", "_roi_pool_backward", "_ps_roi_align_backward"]
OTHER_KERNELS = ["bands", "put", "sample", "correlate", "ctc"]


def run(*words: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **environment},
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def interpreted(**parts: int) -> None:
    """In one process, which takes seconds to start: of each operation's grid, one case in so many."""
    words = [f"{name}/{part}" for name, part in parts.items()]
    assert run("-m", "ops.interpreted_kernels", *words, TRITON_INTERPRET="1") == list(parts)


@pytest.mark.slow
def test_a_part_of_the_grids_and_the_recursion_of_ctc_loss():
    interpreted(
        adaptive_max_pool2d_backward=97,
        upsample_bilinear2d_backward=97,
        bincount=4,
        scatter_reduce=4,
        fractional_max_pool2d_backward=4,
        _ctc_loss_backward=5,
    )


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", GATHERED)
def test_gathers(name):
    interpreted(**{name: 7})


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", SEGMENTED)
def test_segments(name):
    interpreted(**{name: 2})


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", REGIONS)
def test_regions(name):
    interpreted(**{name: 3})


@pytest.mark.parametrize(
    "kernel", ["segments", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHER_KERNELS)]
)
def test_it_compiles_for_a_gpu(kernel, tmp_path):
    """The interpreter accepts more than the compiler does."""
    compiled = run("-m", "ops.compiled_kernels", kernel, TRITON_CACHE_DIR=str(tmp_path), TRITON_INTERPRET="0")
    assert len(compiled) == 4
    assert all(size > 1000 for size in map(int, compiled))


def test_a_device_without_triton_has_torchs_operations():
    assert not triton_probe.works_on(torch.device("cpu"))


def test_a_triton_that_does_not_work_is_said_once(recwarn):
    """There is no CUDA device here: the trial fails as it would with no compiler."""
    if torch.cuda.is_available():
        pytest.skip("it works here")
    triton_probe._works.cache_clear()
    assert not triton_probe.works_on(torch.device("cuda", 0))
    assert not triton_probe.works_on(torch.device("cuda", 0))
    (warning,) = [w for w in recwarn if "samerun computes its operations there by torch's" in str(w.message)]
    triton_probe._works.cache_clear()
    assert "Triton does not work on cuda:0" in str(warning.message)
