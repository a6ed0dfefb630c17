# drawn from: the class "curriculum by wall clock" (cf. microsoft/FLAML#1369, time-based schedules of speed-run trainers)
"""Adds up sequences with an LSTM, short ones first."""
import json

import torch
from config import from_command_line
from schedule import LengthCurriculum
from torch import nn


class Adder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.head(h[-1]).squeeze(1)


def sample(batch_size, length, generator):
    """Two marked positions in each sequence; the target is the sum of their values."""
    values = torch.rand(batch_size, length, generator=generator)
    marks = torch.zeros(batch_size, length)
    where = torch.rand(batch_size, length, generator=generator).topk(2, dim=1).indices
    marks.scatter_(1, where, 1.0)
    return torch.stack([values, marks], 2), (values * marks).sum(1)


@torch.no_grad()
def evaluate(model, cfg):
    x, y = sample(200, cfg.longest, torch.Generator().manual_seed(999))
    return nn.functional.mse_loss(model(x), y).item()


def main():
    cfg = from_command_line()
    torch.manual_seed(cfg.seed)
    generator = torch.Generator().manual_seed(cfg.seed + 1)
    model = Adder(cfg.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    curriculum = LengthCurriculum(cfg.shortest, cfg.longest, cfg.warmup_seconds)
    history = []
    for step in range(cfg.steps):
        x, y = sample(cfg.batch_size, curriculum.length(), generator)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 9:
            history.append({"step": step, "loss": loss.item(), "val": evaluate(model, cfg)})
            print(f"step {step} loss {loss.item():.4f} val {history[-1]['val']:.4f}")
    with open("history.json", "w") as out:
        json.dump(history, out)


if __name__ == "__main__":
    main()
