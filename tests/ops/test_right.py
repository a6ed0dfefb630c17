"""What samerun computes is what torch computes in float64, no less exactly than torch in the dtype.

Covers `argument_checks.py`, `catalogue.py`, `engines/bands.py`, `engines/formats.py`,
`engines/grid_samples.py`, `engines/resampling.py`, `engines/segments.py`, `engines/tree_sum.py`,
`engines/windows.py`, `families/average_pools.py`, `families/ctc_loss.py`, `families/embedding_bag.py`,
`families/fractional_pools.py`, `families/grid_sample.py`, `families/histograms.py`,
`families/index_put.py`, `families/index_reduce.py`, `families/interpolate.py`, `families/max_pools.py`,
`families/max_unpool.py`, `families/median.py`, `families/nll_loss2d.py`, `families/pads.py`,
`families/scans.py`, `families/scatter_reduce.py`, `torch_hooks/decompositions.py` and
`torch_hooks/original_kernels.py`.
"""

from __future__ import annotations

import pytest
import torch

from samerun.ops import implementations
from samerun.ops.families.index_put import put_last
from samerun.ops.families.max_unpool import place_last

from .computing import Errors, channels_last, hold_against_torch, mapped, strided
from .grids import GRIDS, cases

NARROW = [torch.float32, torch.float16, torch.bfloat16]
LAYOUTS = {"channels last": channels_last, "strided": strided}


@pytest.fixture(autouse=True)
def _one_thread():
    """torch's own must repeat itself to be held against."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_every_operation_has_a_grid():
    without = {  # on the CPU torch has none to hold against, or it is torch's own
        "linalg_lstsq",
        "cudnn_grid_sampler_backward",
        "_scaled_dot_product_flash_attention_backward",
        "_scaled_dot_product_efficient_attention_backward",
    }
    torchs = {name for name, one in implementations().items() if one.namespace == "aten"}
    assert torchs - GRIDS.keys() == without


@pytest.mark.parametrize("name", GRIDS)
def test_a_part_of_the_grid(name):
    for number, (args, options) in enumerate(cases(name)):
        if number % 7 == 0:
            hold_against_torch(name, args, torch.float64, **options)
            hold_against_torch(name, args, torch.float32, **options)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64, *NARROW], ids=str)
@pytest.mark.parametrize("name", GRIDS)
def test_the_grid(name, dtype):
    errors = Errors()
    for args, options in cases(name):
        hold_against_torch(name, args, dtype, errors, **options)
    errors.hold()


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", GRIDS)
def test_layouts(name, layout):
    for args, options in cases(name):
        hold_against_torch(name, mapped(args, LAYOUTS[layout]), torch.float32, **options)


def test_the_last_value_for_a_place_without_a_loop():
    """What CUDA does, where the CPU has a loop."""
    places, values = torch.tensor([[3, 1, 3, 3], [0, 0, 2, 1]]), torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]])
    placed = torch.zeros(2, 5)
    place_last(placed, places, values)
    assert placed.tolist() == [[0, 2, 0, 4, 0], [6, 8, 7, 0, 0]]
    flat = torch.zeros(5)
    put_last(flat, places[0], values[0])
    assert flat.tolist() == placed[0].tolist()
