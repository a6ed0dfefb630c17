"""Augmentations of heartbeat signals, with the default generator."""
import torch


class Compose:
    def __init__(self, *parts):
        self.parts = parts

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x


class Jitter:
    def __init__(self, sigma):
        self.sigma = sigma

    def __call__(self, x):
        return x + self.sigma * torch.randn_like(x)


class Scale:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def __call__(self, x):
        return x * (self.low + (self.high - self.low) * torch.rand(len(x), 1, 1))
