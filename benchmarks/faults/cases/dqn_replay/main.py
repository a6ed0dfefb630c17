# drawn from: microsoft/DeepSpeed#8460 (a sampler with a generator of its own, out of reach of the seeds)
import copy
import random

import numpy as np
import torch
import torch.nn as nn
from buffer import ReplayBuffer


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Pendulum:
    """A very rough pendulum with two actions."""

    def reset(self):
        self.th, self.w = np.pi, 0.0
        return self.obs()

    def obs(self):
        return np.array([np.cos(self.th), np.sin(self.th), self.w], dtype=np.float32)

    def step(self, a):
        self.w = np.clip(self.w + 0.15 * np.sin(self.th) + (0.1 if a else -0.1), -4, 4)
        self.th += 0.1 * self.w
        return self.obs(), float(np.cos(self.th)), False


class Agent:
    def __init__(self, gamma=0.95):
        self.q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.q)
        self.opt = torch.optim.Adam(self.q.parameters(), 1e-3)
        self.gamma = gamma

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return int(self.q(torch.from_numpy(s)).argmax())

    def learn(self, s, a, r, s2):
        with torch.no_grad():
            goal = r + self.gamma * self.target(s2).max(1).values
        value = self.q(s).gather(1, a[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


if __name__ == "__main__":
    seed_all(7)
    env, agent, memory = Pendulum(), Agent(), ReplayBuffer(500)
    s = env.reset()
    for t in range(120):
        a = agent.act(s, eps=max(0.1, 1 - t / 100))
        s2, r, _ = env.step(a)
        memory.push(s, a, r, s2)
        s = s2
        if t >= 80:
            loss = agent.learn(*memory.sample(32))
            if t % 10 == 0:
                print(f"t={t} loss={loss:.6f}")
