"""torch-cuda, torch-mps and torch-xpu: what can be shown without such a device, and with one.

Covers `torch_cuda.py`, `torch_mps.py` and `torch_xpu.py`.
"""

import pytest
import torch

from samerun.runs.difference import Difference
from samerun.runs.plan import Control
from samerun.sources.torch_cuda import TorchCuda
from samerun.sources.torch_mps import TorchMps
from samerun.sources.torch_xpu import TorchXpu

from .differences import origin


def output(**columns):
    return Difference(**{"step": 0, "phase": "forward", "what": "output", **columns})


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
SOURCES = [TorchCuda(), TorchMps(), TorchXpu()]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)
def test_seeding_waits_for_the_device_and_is_taken_back(source):
    cuda, xpu = list(torch.cuda._queued_calls), list(torch.xpu._queued_calls)
    undo = source.control(Control(seed=1))
    undo()
    assert (torch.cuda._queued_calls, torch.xpu._queued_calls) == (cuda, xpu)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)
def test_not_in_play_before_the_device_is_used(source):
    if not torch.cuda.is_initialized():
        assert not source.in_play()
        assert source.capture() == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)
def test_recognises_a_draw_on_its_own_device(source):
    dropout = origin("aten::native_dropout", draws=True, generator_differs=True)
    assert source.recognise(output(origin=dropout, rng_first={source.id: 0})).strength == 1.0
    assert source.recognise(output(origin=dropout, rng_first={"torch-cpu": 0})) is None
    drawn = frozenset({source.id})
    assert source.recognise(output(origin=None, rng_first={source.id: 0}, drawn=drawn)) is not None


def test_cuda_seedings_are_noted(observed):
    notes = observed(TorchCuda())
    before = list(torch.cuda._queued_calls)
    torch.cuda.manual_seed_all(3)
    torch.cuda._queued_calls[:] = before
    assert [note.value for note in notes.of("seed", "torch.cuda.manual_seed_all")] == [3.0]


def test_what_torch_does_to_cuda_when_it_seeds_everything_is_no_seeding_of_the_scripts(observed):
    notes = observed(TorchCuda())
    before = list(torch.cuda._queued_calls)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    torch.seed()
    torch.set_rng_state(state)
    torch.cuda._queued_calls[:] = before
    assert notes.of("seed") == []


@pytest.mark.gpu
@needs_cuda
def test_cuda_draws_repeat_under_control():
    source = TorchCuda()
    torch.rand(1, device="cuda")
    drawn = []
    for seed in (1, 1, 2):
        before = source.digest()
        undo = source.control(Control(seed=seed))
        drawn.append(torch.rand(3, device="cuda").tolist())
        assert source.digest() != before
        undo()
        assert source.digest() == before
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.gpu
@needs_cuda
def test_cuda_states_are_captured_and_restored():
    source = TorchCuda()
    torch.rand(1, device="cuda")
    state = source.capture()
    drawn = torch.rand(3, device="cuda")
    source.restore(state)
    assert torch.equal(torch.rand(3, device="cuda"), drawn)
