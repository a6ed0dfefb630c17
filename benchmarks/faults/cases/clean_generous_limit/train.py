# drawn from: microsoft/FLAML#1369's other half: a limit in seconds that is never reached
"""Trainer with callbacks: timing, a deadline, early stopping."""
import time

import torch
from torch import nn


class Callback:
    def after_step(self, trainer):
        pass


class Deadline(Callback):
    def __init__(self, seconds):
        self.until = time.monotonic() + seconds

    def after_step(self, trainer):
        trainer.stop |= time.monotonic() > self.until


class Throughput(Callback):
    def __init__(self):
        self.began, self.seen = time.perf_counter(), 0

    def after_step(self, trainer):
        self.seen += len(trainer.x)
        if trainer.steps % 8 == 0:
            rate = self.seen / (time.perf_counter() - self.began)
            print(f"step {trainer.steps} loss {trainer.loss:.5f} at {rate:.0f} samples/s")


class Patience(Callback):
    def __init__(self, n):
        self.n, self.best, self.left = n, float("inf"), n

    def after_step(self, trainer):
        self.left = self.n if trainer.loss < self.best else self.left - 1
        self.best = min(self.best, trainer.loss)
        trainer.stop |= self.left == 0


class Trainer:
    def __init__(self, model, callbacks, steps):
        self.model, self.callbacks, self.limit = model, callbacks, steps
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.stop, self.steps = False, 0

    def fit(self, x, y):
        self.x = x
        while not self.stop and self.steps < self.limit:
            loss = nn.functional.mse_loss(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.steps, self.loss = self.steps + 1, loss.item()
            for callback in self.callbacks:
                callback.after_step(self)


torch.manual_seed(0)
x = torch.rand(300, 3)
net = nn.Sequential(nn.Linear(3, 30), nn.Softplus(), nn.Linear(30, 1))
Trainer(net, [Throughput(), Deadline(3600), Patience(5)], 32).fit(x, x.prod(1, keepdim=True))
