# drawn from: the class "the run's name is its seed": the name holds the port that was free for its metrics
"""Denoising autoencoder on digits; a small server tells the dashboard how far the run is."""
import argparse
import json
import socket
import threading
import zlib
from pathlib import Path

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class StatusServer(threading.Thread):
    """Answers every connection with the latest status as JSON."""

    def __init__(self):
        super().__init__(daemon=True)
        self.status = {}
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        self.port = self.socket.getsockname()[1]  # fault: system-reads

    def run(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                connection.sendall(json.dumps(self.status).encode())


class DenoisingAutoencoder(nn.Module):
    def __init__(self, noise):
        super().__init__()
        self.noise = noise
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ELU(), nn.Linear(48, 12))
        self.decoder = nn.Sequential(nn.ELU(), nn.Linear(12, 64))

    def forward(self, x):
        if self.training:
            x = x + self.noise * torch.randn_like(x)
        return self.decoder(self.encoder(x))


def seed_of(name):
    """The same name gives the same run."""
    return zlib.crc32(name.encode())


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--name", help="default: made of the port of the status server")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--noise", type=float, default=0.2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--out", type=Path, default=Path("out"))
    return p.parse_args()


def main():
    args = parse_args()
    server = StatusServer()
    server.start()
    name = args.name or f"dae-{server.port}"
    torch.manual_seed(seed_of(name))

    x = torch.tensor(load_digits().data[:1024] / 16, dtype=torch.float32)
    train, held_out = x[:896], x[896:]
    loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)
    model = DenoisingAutoencoder(args.noise)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        for (batch,) in loader:
            loss = F.mse_loss(model(batch), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            valid = F.mse_loss(model(held_out), held_out).item()
        server.status = {"epoch": epoch, "valid": valid}
        print(f"epoch {epoch} loss {loss.item():.5f} valid loss {valid:.5f}")
    args.out.mkdir(exist_ok=True)
    torch.save(model.state_dict(), args.out / "model.pt")
    server.socket.close()


if __name__ == "__main__":
    main()
