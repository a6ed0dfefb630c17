# drawn from: the class "auto-resume": last.pt is picked up when the run before it left one (cf. huggingface/accelerate#3996)
"""python train.py trains 3 more epochs; stop and start as you like."""
import os
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class State:
    model: nn.Module
    optimizer: torch.optim.Optimizer
    epoch: int = 0
    losses: list = field(default_factory=list)

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "opt": self.optimizer.state_dict(), "epoch": self.epoch}, path)

    def load(self, path):
        saved = torch.load(path)  # fault: resume-state
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["opt"])
        self.epoch = saved["epoch"]


def main():
    torch.manual_seed(0)
    x = torch.rand(512, 1, 8, 8)
    y = (x.mean((1, 2, 3)) > 0.5).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    state = State(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    if os.path.exists("last.pt"):  # fault: resume-state
        state.load("last.pt")
    for _ in range(3):
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            state.optimizer.zero_grad()
            loss.backward()
            state.optimizer.step()
        state.epoch += 1
        state.save("last.pt")
        print(f"epoch {state.epoch} loss {loss.item():.5f}")


main()
