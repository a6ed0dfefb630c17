# drawn from: the class "evaluate now and then": chance decides whether a step is followed by an evaluation
"""Ridge-like regression with early looks at the validation set."""
import random

import torch
from torch import nn


class Experiment:
    def __init__(self, seed=0):
        torch.manual_seed(seed)
        self.x, w = torch.randn(700, 9), torch.randn(9, 1)
        self.y = self.x @ w + 0.3 * torch.randn(700, 1)
        self.model = nn.Linear(9, 1)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.02, weight_decay=1e-3)

    def train_step(self, rows):
        loss = (self.model(self.x[rows]) - self.y[rows]).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def validate(self):
        with torch.no_grad():
            return (self.model(self.x[600:]) - self.y[600:]).abs().mean().item()

    def run(self, steps=30):
        for step in range(steps):
            loss = self.train_step(slice(step * 20, step * 20 + 20))
            print(f"step {step} loss {loss:.5f}")
            if random.random() < 0.3:  # fault: python-random
                print("    error on validation", self.validate())  # fault: python-random


Experiment().run()
