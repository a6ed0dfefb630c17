"""accelerate: its sampler and its RNG file after a resume, and its flag for determinism."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

from samerun import control, state
from samerun.errors import StateError

from .faults import fault
from .training import Training, resumed
from .work import BATCH, Augmented, Net, bits, order


class Script:
    """A script's start: seeded, and with the seedable sampler that accelerate offers for resuming."""

    def __init__(self) -> None:
        from accelerate import Accelerator
        from accelerate.utils import DataLoaderConfiguration, set_seed

        set_seed(0)
        configuration = DataLoaderConfiguration(use_seedable_sampler=True)
        self.accelerator = Accelerator(cpu=True, dataloader_config=configuration)
        model = Net()
        self.model, self.optimizer, self.loader = self.accelerator.prepare(
            model,
            torch.optim.SGD(model.parameters(), lr=0.1),
            DataLoader(Augmented(), batch_size=BATCH, shuffle=True),
        )


@pytest.fixture
def script(peer: str) -> Iterator[type[Script]]:
    yield Script
    from accelerate.state import AcceleratorState, GradientState

    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


@fault(
    "accelerate",
    "with the seedable sampler, a resumed epoch replays epoch 0's order",
    samerun="the resumed epoch has its own order, that of the run that was never stopped",
)
class TestTheOrderOfAResumedEpoch:
    def test_peer(self, script: type[Script], tmp_path: Path) -> None:
        whole = script()
        epochs = [order(whole.loader), order(whole.loader)]
        stopped = script()
        assert order(stopped.loader) == epochs[0]
        stopped.accelerator.save_state(str(tmp_path))
        resumed = script()
        resumed.accelerator.load_state(str(tmp_path))
        assert epochs[0] != epochs[1]
        assert order(resumed.loader) == epochs[0]

    def test_samerun(self, tmp_path: Path) -> None:
        whole = Training()
        first, second = whole.train(), whole.train()
        training = resumed(tmp_path / "state.pt")
        assert order(first) != order(second)
        assert bits(training.train()) == bits(second)
        assert bits(training.model.parameters()) == bits(whole.model.parameters())


@fault(
    "accelerate",
    "after skip_first_batches, the next epoch repeats the permutation of the one that was resumed",
    samerun="the rest of the epoch is followed by the next epoch's order",
)
class TestTheEpochAfterAResume:
    def test_peer(self, script: type[Script], tmp_path: Path) -> None:
        whole = script()
        epochs = [order(whole.loader), order(whole.loader)]
        stopped = script()
        next(iter(stopped.loader))
        stopped.accelerator.save_state(str(tmp_path))
        resumed = script()
        resumed.accelerator.load_state(str(tmp_path))
        rest = resumed.accelerator.skip_first_batches(resumed.loader, 1)
        assert order(rest) == epochs[0][BATCH:]
        assert epochs[0] != epochs[1]
        assert order(resumed.loader) == epochs[0]

    def test_samerun(self, tmp_path: Path) -> None:
        whole = Training()
        first, second = whole.train(), whole.train()
        training = resumed(tmp_path / "state.pt", steps=1)
        assert order(first) != order(second)
        assert bits(training.train()) == bits(first[1:])
        assert bits(training.train()) == bits(second)


@fault(
    "accelerate",
    "load_state raises nothing when the RNG file of the checkpoint is gone",
    samerun="StateError, and nothing has been restored",
)
class TestARngFileThatIsGone:
    def test_peer(self, script: type[Script], tmp_path: Path) -> None:
        stopped = script()
        stopped.accelerator.save_state(str(tmp_path))
        (file,) = tmp_path.glob("random_states*")
        resumed = script()
        torch.manual_seed(1)
        elsewhere = torch.get_rng_state()
        resumed.accelerator.load_state(str(tmp_path))
        assert not torch.equal(torch.get_rng_state(), elsewhere)
        file.unlink()
        torch.set_rng_state(elsewhere)
        resumed.accelerator.load_state(str(tmp_path))
        assert torch.equal(torch.get_rng_state(), elsewhere)

    def test_samerun(self, tmp_path: Path) -> None:
        stopped = Training()
        stopped.train(1)
        whole = state.capture(**stopped.objects)
        lacking = {**whole, "rng": {id_: rng for id_, rng in whole["rng"].items() if id_ != "torch-cpu"}}
        training = Training()
        before = bits([torch.get_rng_state(), *training.model.parameters()])
        with pytest.raises(StateError, match="torch-cpu"):
            state.restore(lacking, **training.objects)
        with pytest.raises(StateError, match="no such file"):
            state.load(tmp_path / "gone.pt", **training.objects)
        assert bits([torch.get_rng_state(), *training.model.parameters()]) == before
        state.restore(whole, **training.objects)
        assert bits([torch.get_rng_state(), *training.model.parameters()]) != before


@fault(
    "accelerate",
    "set_seed(deterministic=True) leaves cuBLAS's workspace and cuDNN as they were",
    samerun="both are set, and put back when the context is left",
)
class TestDeterministicSettings:
    def test_peer(self, peer: str, monkeypatch: pytest.MonkeyPatch) -> None:
        from accelerate.utils import set_seed

        monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, True
        set_seed(0, deterministic=True)
        assert torch.are_deterministic_algorithms_enabled()
        assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
        assert not torch.backends.cudnn.deterministic
        assert torch.backends.cudnn.benchmark

    @pytest.mark.filterwarnings("ignore:PYTHONHASHSEED")
    def test_samerun(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = False, True
        with control(seed=0, mode="strict"):
            assert torch.are_deterministic_algorithms_enabled()
            assert os.environ["CUBLAS_WORKSPACE_CONFIG"] in (":4096:8", ":16:8")
            assert torch.backends.cudnn.deterministic
            assert not torch.backends.cudnn.benchmark
        assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
        assert not torch.backends.cudnn.deterministic
        assert torch.backends.cudnn.benchmark
