# drawn from: EnvPool and sample-factory style stepping: actions go to the environments that are ready (verl#3126)
"""Deep Q-learning on asynchronous environments."""
import argparse
import random
from collections import deque

import numpy as np
import torch
from torch import nn
from workers import AsyncEnvironments


class Agent:
    def __init__(self, lr, seed):
        self.random = random.Random(seed)
        self.q = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 3))
        self.target = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 3))
        self.target.load_state_dict(self.q.state_dict())
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory = deque(maxlen=4000)

    @torch.no_grad()
    def act(self, observation, epsilon):
        if self.random.random() < epsilon:
            return self.random.randrange(3)
        return int(self.q(torch.from_numpy(observation)[None]).argmax())

    def learn(self, size):
        rows = self.random.sample(range(len(self.memory)), size)
        obs, action, reward, after, done = zip(*(self.memory[i] for i in rows))
        obs, after = torch.from_numpy(np.stack(obs)), torch.from_numpy(np.stack(after))
        action, reward = torch.tensor(action), torch.tensor(reward, dtype=torch.float32)
        with torch.no_grad():
            best = reward + 0.9 * self.target(after).amax(1) * (1 - torch.tensor(done, dtype=torch.float32))
        loss = nn.functional.smooth_l1_loss(self.q(obs).gather(1, action[:, None]).squeeze(1), best)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--envs", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=90)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=8)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    agent = Agent(args.lr, args.seed)
    envs = AsyncEnvironments(args.envs, args.seed)
    last = {}
    for number in range(args.rounds):
        for pipe, (obs, reward, done) in envs.ready(args.envs // 2):
            if pipe in last:
                before, action = last[pipe]
                agent.memory.append((before, action, reward, obs, done))
            action = agent.act(obs, epsilon=max(0.1, 1 - number / 60))
            last[pipe] = (obs, action)
            pipe.send(action)
        if len(agent.memory) >= 64:
            loss = agent.learn(32)
            if number % 10 == 0:
                agent.target.load_state_dict(agent.q.state_dict())
                print(f"round {number} loss {loss:.5f}")
    envs.close()


if __name__ == "__main__":
    main()
