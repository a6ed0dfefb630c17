# drawn from: a data set's own generator is not reached by lightning.seed_everything(seed, workers=True)
"""A Lightning data module whose samples are noisy."""

import lightning as L
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, x, y, noise=0.1):
        self.x, self.y, self.noise = x, y, noise
        self.rng = np.random.default_rng()  # fault: numpy-generator

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i] + self.rng.normal(0, self.noise, self.x[i].shape)  # fault: numpy-generator
        return x.astype(np.float32), self.y[i]


class Data(L.LightningDataModule):
    def setup(self, stage):
        x, y = load_digits(return_X_y=True)
        self.train = Noisy(x[:512] / 16, y[:512])

    def train_dataloader(self):
        return DataLoader(self.train, 64, shuffle=True, num_workers=2, persistent_workers=True)


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), 1e-3)


if __name__ == "__main__":
    L.seed_everything(1, workers=True)
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", deterministic=True, enable_progress_bar=False)
    trainer.fit(Model(), Data())
