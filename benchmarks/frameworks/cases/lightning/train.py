"""A LightningModule with a scheduler, metrics, validation, two checkpoints' callbacks."""

import argparse

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    """Waves of three frequencies, with noise that is new each time."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        label = index % 3
        time = torch.linspace(0, 6.28, 32)
        noise = torch.randn(32) * 0.3
        return torch.sin((label + 1) * time) + noise, label


class Classifier(L.LightningModule):
    def __init__(self, hidden=32):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(32, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, 3))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.net(x), y))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


parser = argparse.ArgumentParser()
parser.add_argument("--ckpt")
args = parser.parse_args()

L.seed_everything(42, workers=True)
trainer = L.Trainer(
    max_epochs=3,
    accelerator="cpu",
    default_root_dir="logs",
    accumulate_grad_batches=2,
    gradient_clip_val=1.0,
    log_every_n_steps=2,
    enable_progress_bar=False,
    callbacks=[
        ModelCheckpoint("checkpoints", monitor="val_loss", save_last=True),
        EarlyStopping("val_loss", patience=5),
    ],
)
train = DataLoader(Signals(96), 12, shuffle=True, num_workers=2)
trainer.fit(Classifier(), train, DataLoader(Signals(24), 12, num_workers=1), ckpt_path=args.ckpt)
trainer.save_checkpoint("final.ckpt")
