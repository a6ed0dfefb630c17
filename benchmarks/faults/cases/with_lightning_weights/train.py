# drawn from: the mistake that lightning.seed_everything is there for: nothing seeds the weights or the order
"""A Lightning module on the digits, with validation, a logger and checkpoints as they come."""

import lightning as L
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Digits(L.LightningModule):
    def __init__(self, hidden=32):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, 10)  # fault: torch-cpu
        )

    def training_step(self, batch, _):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


def main():
    x, y = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(x[:640] / 16, dtype=torch.float32), torch.tensor(y[:640]))
    train = DataLoader(data, 64, shuffle=True, num_workers=2)
    L.Trainer(max_epochs=2, accelerator="cpu").fit(Digits(), train, DataLoader(data, 64))


if __name__ == "__main__":
    main()
