import numpy as np
import torch


class Corridor:
    """Walk to the right end; the wind pushes back now and then."""

    def __init__(self, length, wind=0.2, limit=30):
        self.length, self.wind, self.limit = length, wind, limit
        self.rng = np.random.default_rng()  # fault: numpy-generator

    def observe(self):
        obs = torch.zeros(self.length)
        obs[self.at] = 1.0
        return obs

    def reset(self):
        self.at, self.t = int(self.rng.integers(self.length // 2)), 0  # fault: numpy-generator
        return self.observe()

    def step(self, action):
        move = 1 if action == 1 else -1
        if self.rng.random() < self.wind:
            move = -1
        self.at = min(max(self.at + move, 0), self.length - 1)
        self.t += 1
        done = self.at == self.length - 1 or self.t >= self.limit
        return self.observe(), 1.0 if self.at == self.length - 1 else -0.05, done
