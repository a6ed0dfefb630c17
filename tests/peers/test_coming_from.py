"""docs/coming-from.md: the lines before and the lines after, run as they are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from pages import Training, block, other

from samerun.data import DataLoader

from .faults import absent
from .ranks import on_two_ranks
from .work import BATCH, Augmented, Net, bits, by_sample, draws, order

pytestmark = pytest.mark.filterwarnings("ignore:PYTHONHASHSEED was not set")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def needs(peer: str) -> None:
    reason = absent(peer)
    if reason is not None:
        pytest.skip(reason)


class TestLightning:
    """12 samples by 2, 2 epochs: 12 steps, and a checkpoint after each and at the end of each epoch."""

    @pytest.fixture(autouse=True)
    def lightning(self) -> None:
        needs("lightning")

    def test_before(self, tmp_path: Path) -> None:
        code = block("Lightning 1")
        whole, again = fitted(code, tmp_path / "whole"), fitted(code, tmp_path / "again")
        assert bits(again.batches) == bits(whole.batches) and len(whole.batches) == 12
        assert order(whole.batches[:6]) != order(whole.batches[6:])
        resumed = fitted(code, tmp_path / "resumed", resume=tmp_path / "whole" / "epoch=0.ckpt")
        assert order(resumed.batches) == order(whole.batches[:6])  # epoch 0 once more

    def test_after(self, tmp_path: Path) -> None:
        code = block("Lightning 2")
        whole = fitted(code, tmp_path / "whole")
        assert order(whole.batches[:6]) != order(whole.batches[6:])
        for checkpoint, done in (("step=2", 2), ("step=6", 6), ("epoch=0", 6), ("step=7", 7)):
            resumed = fitted(code, tmp_path / "resumed", resume=tmp_path / "whole" / f"{checkpoint}.ckpt")
            assert bits(resumed.batches) == bits(whole.batches[done:]), checkpoint
            assert bits(resumed.parameters()) == bits(whole.parameters()), checkpoint

    def test_after_without_the_callback(self, tmp_path: Path) -> None:
        code = other(block("Lightning 2"), "[saving, Exact(loader)]", "[saving]")
        whole = fitted(code, tmp_path / "whole")
        resumed = fitted(code, tmp_path / "resumed", resume=tmp_path / "whole" / "step=6.ckpt")
        assert bits(resumed.batches) != bits(whole.batches[6:])


def fitted(code: str, folder: Path, resume: Path | None = None) -> Any:
    """The module that a block has trained, with its batches."""
    import lightning
    from lightning.pytorch.callbacks import ModelCheckpoint

    modules = []

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()
            self.batches: list[torch.Tensor] = []
            modules.append(self)

        def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
            self.batches.append(batch.cpu().clone())
            return self.net(batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    class Saving(ModelCheckpoint):
        """Both kinds of checkpoints that there are."""

        def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
            trainer.save_checkpoint(folder / f"step={trainer.global_step}.ckpt")

        def on_train_epoch_end(self, trainer: Any, *_: Any) -> None:
            trainer.save_checkpoint(folder / f"epoch={trainer.current_epoch}.ckpt")

    quiet = partial(
        lightning.Trainer,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    quietly = SimpleNamespace(**{**vars(lightning), "Trainer": quiet})
    Training().run(code, lightning=quietly, Module=Module, saving=Saving(), resume=resume)
    (module,) = modules
    return module


class TestAccelerate:
    """12 samples by 2, one epoch: 6 steps, with a checkpoint after each."""

    @pytest.fixture(autouse=True)
    def accelerate(self) -> Iterator[None]:
        needs("accelerate")
        yield
        from accelerate.state import AcceleratorState, GradientState

        AcceleratorState._reset_state(reset_partial_state=True)
        GradientState._reset_state()

    def test_before(self) -> None:
        code = block("accelerate 1")
        whole = accelerated(code)
        accelerated(code, stop_after=2)
        resumed = accelerated(code, resume=True)
        assert order(resumed.batches) != order(whole.batches[2:])
        assert set(order(resumed.batches)) & set(order(whole.batches[:2]))  # once more

    @pytest.mark.parametrize("done", [1, 3, 5])
    def test_after(self, done: int) -> None:
        code = block("accelerate 2")
        whole = accelerated(code)
        accelerated(code, stop_after=done)
        resumed = accelerated(code, resume=True)
        assert len(whole.batches) == 6 and bits(resumed.batches) == bits(whole.batches[done:])
        assert bits(resumed.model.parameters()) == bits(whole.model.parameters())

    def test_prepare_makes_a_torch_loader_of_it(self) -> None:
        from accelerate import Accelerator

        loader = DataLoader(Augmented(), batch_size=BATCH, shuffle=True, seed=0)
        prepared = Accelerator(cpu=True).prepare(loader)
        assert not isinstance(prepared, DataLoader)
        assert by_sample(prepared) != by_sample(loader)


def accelerated(code: str, stop_after: int | None = None, resume: bool = False) -> Training:
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    training = Training(stop_after)
    names = {"accelerator": Accelerator(cpu=True), "set_seed": set_seed, "resume": resume, "done": 2}
    training.run(code, **names)
    return training


class TestMMEngine:
    """12 samples by 2, 2 epochs: 12 steps."""

    def test_before(self) -> None:
        needs("mmengine")
        from mmengine.dataset import DefaultSampler, worker_init_fn
        from mmengine.dist import get_rank, sync_random_seed
        from mmengine.runner import set_random_seed

        names = {
            "partial": partial,
            "DefaultSampler": DefaultSampler,
            "worker_init_fn": worker_init_fn,
            "get_rank": get_rank,
            "sync_random_seed": sync_random_seed,
            "set_random_seed": set_random_seed,
        }
        batches, _ = two_epochs(block("MMDetection, MMEngine 1"), **names)
        assert order(batches[:6]) != order(batches[6:])
        assert draws(batches[:6]) == draws(batches[6:])

    def test_after(self) -> None:
        code = block("MMDetection, MMEngine 2")
        batches, seed = two_epochs(code)
        assert order(batches[:6]) != order(batches[6:])
        assert set(draws(batches[:6])).isdisjoint(draws(batches[6:]))
        another, drawn = two_epochs(code)
        assert drawn != seed and bits(another) != bits(batches)
        fewer = other(given(code, seed), "num_workers=2", "num_workers=0")
        assert bits(two_epochs(fewer)[0]) == bits(batches)

    @pytest.mark.slow
    def test_after_on_two_ranks(self, tmp_path: Path) -> None:
        zero, one = on_two_ranks("peers.rank_coming_from", tmp_path)
        assert zero["seed"] == one["seed"]
        code = given(other(block("MMDetection, MMEngine 2"), "dataset, 2,", "dataset, 4,"), zero["seed"])
        alone, _ = two_epochs(code)
        together = [torch.cat(pair) for pair in zip(zero["batches"], one["batches"], strict=True)]
        assert [by_sample([batch]) for batch in together] == [by_sample([batch]) for batch in alone]


def given(code: str, seed: int) -> str:
    """The block with the seed that another run of it has drawn."""
    return other(code, "seed_everything()", f"seed_everything({seed})")


def two_epochs(code: str, **names: Any) -> tuple[list[torch.Tensor], int]:
    """The batches and the seed."""
    training = Training()
    model, optimizer = training.build()
    return training.batches, training.run(code, model=model, optimizer=optimizer, **names)["seed"]
