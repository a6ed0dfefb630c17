"""transformers: the augmentations after a resume in the middle of an epoch."""

from __future__ import annotations

from pathlib import Path

import torch

from .faults import fault
from .training import Training, resumed
from .work import BATCH, Augmented, Net, bits, draws, order

STOP = 2  # steps before the checkpoint, of 6 in the epoch


def trained(folder: Path, *, resume: Path | None = None) -> list[torch.Tensor]:
    """The batches that a Trainer with full_determinism gave its model."""
    from transformers import Trainer, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()
            self.batches: list[torch.Tensor] = []

        def forward(self, batch: torch.Tensor) -> dict[str, torch.Tensor]:
            self.batches.append(batch.clone())
            return {"loss": self.net(batch)}

    arguments = TrainingArguments(
        output_dir=str(folder),
        full_determinism=True,
        seed=0,
        num_train_epochs=1,
        per_device_train_batch_size=BATCH,
        save_steps=STOP,
        save_strategy="steps",
        logging_strategy="no",
        remove_unused_columns=False,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    model = Model()
    trainer = Trainer(
        model, arguments, train_dataset=Augmented(), data_collator=lambda rows: {"batch": torch.stack(rows)}
    )
    trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    return model.batches


@fault(
    "transformers",
    "with full_determinism, a resume in mid-epoch diverges at the first batch",
    samerun="every batch and the final weights are those of the run that was never stopped",
)
class TestAResumeInMidEpoch:
    def test_peer(self, peer: str, tmp_path: Path) -> None:
        whole = trained(tmp_path / "whole")
        assert bits(trained(tmp_path / "again")) == bits(whole)
        resumed = trained(tmp_path / "resumed", resume=tmp_path / "whole" / f"checkpoint-{STOP}")
        assert order(resumed) == order(whole[STOP:])
        assert draws(resumed[:1]) != draws(whole[STOP : STOP + 1])

    def test_samerun(self, tmp_path: Path) -> None:
        whole = Training()
        batches = whole.train()
        training = resumed(tmp_path / "state.pt", steps=STOP)
        assert bits(training.train()) == bits(batches[STOP:])
        assert bits(training.model.parameters()) == bits(whole.model.parameters())
