"""python train.py [group.key=value …]"""
import json
import sys
from pathlib import Path

import torch
from envs import VectorEnv
from torch import nn


def compose(overrides):
    cfg = {path.stem: json.loads(path.read_text()) for path in sorted(Path("conf").glob("*.json"))}
    cfg["steps"] = 40
    for item in overrides:
        key, value = item.split("=")
        *groups, last = key.split(".")
        node = cfg
        for group in groups:
            node = node[group]
        node[last] = type(node[last])(value)
    return cfg


def main():
    cfg = compose(sys.argv[1:])
    torch.manual_seed(cfg["agent"]["seed"])
    envs = VectorEnv(cfg["env"])
    policy = nn.Sequential(nn.Linear(2, cfg["agent"]["hidden"]), nn.Tanh(), nn.Linear(cfg["agent"]["hidden"], 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=cfg["agent"]["lr"])
    seen = torch.from_numpy(envs.reset())
    for step in range(cfg["steps"]):
        logs, rewards = [], []
        for _ in range(8):
            chosen = torch.distributions.Categorical(logits=policy(seen))
            action = chosen.sample()
            after, reward = envs.step(action.tolist())
            logs.append(chosen.log_prob(action))
            rewards.append(torch.from_numpy(reward))
            seen = torch.from_numpy(after)
        loss = -(torch.stack(logs) * torch.stack(rewards).flip(0).cumsum(0).flip(0)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step + 1} loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
