from __future__ import annotations

import numbers

import pytest
import torch

from samerun.ops.engines import grid_samples
from samerun.ops.engines.exact_division import divide
from samerun.ops.families import histograms, roi_align, roi_pool

WHOLE = torch.arange(1, 400, dtype=torch.float32)
STARTS, ENDS = torch.arange(0, 60, 3), torch.arange(0, 60, 3) + 30
PLACES = {
    "histc": lambda: histograms.histc(WHOLE, 41, 0, 41),
    "bins of regions": lambda: torch.stack(roi_pool._compute_spans(STARTS, ENDS, 7, 90, torch.float32)),
    "samples of regions": lambda: roi_align._Samples.of(WHOLE, 2 * WHOLE, 7, 0, True).count,
    "reflected": lambda: torch.stack(grid_samples._reflect(torch.arange(-400.0, 400), 0.0, 41.0)),
}


@pytest.fixture
def reciprocals(monkeypatch):
    """Tensors are divided by a Python number as on CUDA: multiplied by its reciprocal."""
    original = torch.Tensor.__truediv__

    def divided(self, other):
        if isinstance(other, numbers.Number) and self.is_floating_point():
            return self * original(torch.ones((), dtype=self.dtype), other)
        return original(self, other)

    monkeypatch.setattr(torch.Tensor, "__truediv__", divided)


def test_each_is_rounded_once(reciprocals):
    exact = torch.tensor([float(number) for number in range(1, 400)], dtype=torch.float64)
    for number in (3, 7, 49, 0.3):
        wanted = torch.div(exact, torch.tensor(number, dtype=torch.float32).double()).float()
        assert torch.equal(divide(WHOLE, number), wanted)
    assert not torch.equal(divide(WHOLE, 49), WHOLE / 49)


@pytest.mark.parametrize("name", PLACES)
def test_what_begins_a_bin_on_the_cpu_does_on_cuda(name, request):
    before = PLACES[name]()
    request.getfixturevalue("reciprocals")
    assert torch.equal(PLACES[name](), before)
