"""Forecasts a seasonal series with a small temporal convolution."""
import os

import torch
from settings import Settings
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, window):
        self.series, self.window = series, window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        return self.series[i : i + self.window], self.series[i + self.window]


class TCN(nn.Module):
    def __init__(self, channels=10):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(1 if not i else channels, channels, 2, dilation=2**i) for i in range(3))
        self.out = nn.Linear(channels, 1)

    def forward(self, x):
        h = x[:, None]
        for layer in self.layers:
            h = torch.relu(layer(nn.functional.pad(h, (layer.dilation[0], 0))))
        return self.out(h[:, :, -1]).squeeze(1)


def series(n=700):
    t = torch.arange(n, dtype=torch.float32)
    return torch.sin(t / 8) + 0.4 * torch.sin(t / 2.5) + 0.1 * torch.cos(t * t / 900)


def validate(model, data):
    model.eval()
    with torch.no_grad():
        errors = [(model(x) - y).abs() for x, y in DataLoader(data, batch_size=128)]
    model.train()
    return torch.cat(errors).mean().item()


def main(settings):
    torch.manual_seed(settings.seed)  # fault: environment
    values = series()
    train, valid = Windows(values[:600], settings.window), Windows(values[600:], settings.window)
    loader = DataLoader(train, batch_size=98, shuffle=True)
    model = TCN()
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
    best = float("inf")
    for epoch in range(settings.epochs):
        for x, y in loader:
            loss = nn.functional.smooth_l1_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        error = validate(model, valid)
        print(f"epoch {epoch + 1}/{settings.epochs} loss: {loss.item():.5f} mae: {error:.5f}")
        if error < best:
            best = error
            torch.save(model.state_dict(), os.path.join(settings.out, "best.pt"))


if __name__ == "__main__":
    main(Settings())
