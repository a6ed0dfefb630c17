"""Lightning: what a resume, an exception and a second rank do to its random numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.utils.data

from samerun import isolate_rng
from samerun.data import DataLoader

from .faults import fault
from .ranks import on_two_ranks
from .training import Training, resumed
from .work import BATCH, Augmented, Net, bits, by_sample, draws, next_draws, order, seed


def fitted(folder: Path, *, epochs: int, resume: Path | None = None, save: Path | None = None) -> Any:
    """A module trained as Lightning's guide to reproducibility says, with the batches of each epoch."""
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()
            self.batches: dict[int, list[torch.Tensor]] = {}
            self.noise: dict[int, list[torch.Tensor]] = {}

        def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
            self.batches.setdefault(self.current_epoch, []).append(batch.clone())
            self.noise.setdefault(self.current_epoch, []).append(torch.rand(3))
            return self.net(batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    lightning.seed_everything(0, workers=True)
    module = Module()
    trainer = lightning.Trainer(
        max_epochs=epochs,
        deterministic=True,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    loader = torch.utils.data.DataLoader(Augmented(), batch_size=BATCH, shuffle=True)
    trainer.fit(module, loader, ckpt_path=resume, weights_only=False)
    if save is not None:
        trainer.save_checkpoint(save)
    return module


@fault(
    "lightning",
    "a resumed epoch replays epoch 0's order, even with deterministic=True and workers=True",
    samerun="the resumed epoch has its own order, that of the run that was never stopped",
)
class TestTheOrderOfAResumedEpoch:
    def test_peer(self, peer: str, tmp_path: Path) -> None:
        whole = fitted(tmp_path, epochs=2).batches
        checkpoint = tmp_path / "epoch1.ckpt"
        fitted(tmp_path, epochs=1, save=checkpoint)
        resumed = fitted(tmp_path, epochs=2, resume=checkpoint).batches
        assert list(resumed) == [1]
        assert order(whole[0]) != order(whole[1])
        assert order(resumed[1]) == order(whole[0])

    def test_samerun(self, tmp_path: Path) -> None:
        whole = Training()
        first, second = whole.train(), whole.train()
        training = resumed(tmp_path / "state.pt")
        assert order(first) != order(second)
        assert bits(training.train()) == bits(second)
        assert bits(training.model.parameters()) == bits(whole.model.parameters())


@fault(
    "lightning",
    "the checkpoint has no RNG state: after a resume the main process draws epoch 0's numbers again",
    samerun="every generator goes on where it was",
)
class TestTheMainGeneratorInACheckpoint:
    def test_peer(self, peer: str, tmp_path: Path) -> None:
        whole = fitted(tmp_path, epochs=2).noise
        checkpoint = tmp_path / "epoch1.ckpt"
        fitted(tmp_path, epochs=1, save=checkpoint)
        resumed = fitted(tmp_path, epochs=2, resume=checkpoint).noise
        assert bits(whole[0]) != bits(whole[1])
        assert bits(resumed[1]) == bits(whole[0])

    def test_samerun(self, tmp_path: Path) -> None:
        whole = Training()
        steps = len(whole.train())
        whole.train()
        training = resumed(tmp_path / "state.pt")
        training.noise.clear()
        training.train()
        assert bits(whole.noise[:steps]) != bits(whole.noise[steps:])
        assert bits(training.noise) == bits(whole.noise[steps:])


@fault(
    "lightning",
    "isolate_rng does not restore after an exception",
    samerun="isolate_rng restores after an exception too",
)
class TestIsolationAndExceptions:
    def test_peer(self, peer: str) -> None:
        from lightning.pytorch.utilities.seed import isolate_rng

        torch.manual_seed(0)
        before = torch.get_rng_state()
        with pytest.raises(ZeroDivisionError), isolate_rng():
            torch.rand(1)
            raise ZeroDivisionError
        assert not torch.equal(torch.get_rng_state(), before)
        torch.set_rng_state(before)
        with isolate_rng():
            torch.rand(1)
        assert torch.equal(torch.get_rng_state(), before)

    def test_samerun(self) -> None:
        seed(0)
        with isolate_rng():
            unbroken = next_draws()
        with pytest.raises(ZeroDivisionError), isolate_rng():
            assert next_draws() == unbroken
            assert next_draws() != unbroken
            raise ZeroDivisionError
        assert next_draws() == unbroken


@fault(
    "lightning",
    "by default, ranks 0 and 1 draw the same augmentations for different samples",
    samerun="each sample's draws are its own on every rank, and those of a run on one rank",
)
class TestTheAugmentationsOfTwoRanks:
    def test_peer(self, peer: str, tmp_path: Path) -> None:
        zero, one = on_two_ranks("peers.rank_lightning", tmp_path)
        for workers in ("0 workers", "2 workers"):
            assert set(order(zero[workers])).isdisjoint(order(one[workers]))
            assert draws(zero[workers]) == draws(one[workers])

    @pytest.mark.slow  # data/test_invariance.py has two ranks in everyday
    def test_samerun(self, tmp_path: Path) -> None:
        zero, one = on_two_ranks("peers.rank_samerun", tmp_path)
        alone = by_sample(DataLoader(Augmented(), batch_size=BATCH, shuffle=True, seed=0))
        for workers in ("0 workers", "2 workers"):
            assert set(order(zero[workers])).isdisjoint(order(one[workers]))
            assert set(draws(zero[workers])).isdisjoint(draws(one[workers]))
            assert by_sample([*zero[workers], *one[workers]]) == alone
