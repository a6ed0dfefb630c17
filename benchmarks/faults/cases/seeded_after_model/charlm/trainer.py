"""The training loop."""

import random

import numpy as np
import torch
import torch.nn.functional as F

from .net import CharLM


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Trainer:
    def __init__(self, text, cfg):
        self.cfg = cfg
        self.chars = sorted(set(text))
        self.data = torch.tensor([self.chars.index(c) for c in text])
        self.model = CharLM(len(self.chars), cfg)  # fault: torch-cpu
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr)

    def batch(self):
        begin = torch.randint(len(self.data) - self.cfg.context - 1, (self.cfg.batch_size,))
        rows = torch.stack([self.data[i : i + self.cfg.context + 1] for i in begin.tolist()])
        return rows[:, :-1], rows[:, 1:]

    def fit(self):
        set_seed(self.cfg.seed)
        for step in range(self.cfg.steps):
            x, y = self.batch()
            loss = F.cross_entropy(self.model(x).flatten(0, 1), y.flatten())
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            if step % 10 == 0 or step == self.cfg.steps - 1:
                print(f"step {step:4d} | loss {loss.item():.4f}")

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "chars": self.chars}, path)
