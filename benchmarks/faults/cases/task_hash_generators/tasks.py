"""Regression tasks for meta-learning: sine waves of other amplitude and phase."""
import math

import torch


class Task:
    def __init__(self, amplitude, phase):
        self.amplitude = amplitude
        self.phase = phase

    def __call__(self, x):
        return self.amplitude * torch.sin(x + self.phase)

    def examples(self, n, epoch):
        """Support and query points; each task has a generator of its own, so that tasks do not share points."""
        g = torch.Generator()
        g.manual_seed((hash(self) + epoch) % 2**31)  # fault: memory-address
        x = torch.rand(2 * n, 1, generator=g) * 10 - 5
        y = self(x)
        return (x[:n], y[:n]), (x[n:], y[n:])


def make_tasks(n):
    return [Task(0.5 + 4.5 * k / n, math.pi * (k * 7 % n) / n) for k in range(n)]
