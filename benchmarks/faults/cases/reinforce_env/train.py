# drawn from: oxwhirl/smacv2#54 (an environment that makes default_rng() for itself)
import numpy as np
import torch
import torch.nn as nn
from corridor import Corridor

torch.manual_seed(1)
np.random.seed(1)

env = Corridor(length=8)
policy = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)


def run_episode():
    obs, logps, rewards, done = env.reset(), [], [], False
    while not done:
        dist = torch.distributions.Categorical(logits=policy(obs))
        action = dist.sample()
        obs, reward, done = env.step(action.item())
        logps.append(dist.log_prob(action))
        rewards.append(reward)
    returns = torch.tensor(rewards[::-1]).cumsum(0).flip(0)
    return torch.stack(logps), returns


for episode in range(15):
    logps, returns = run_episode()
    loss = -(logps * (returns - returns.mean())).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("episode", episode, "return", round(returns[0].item(), 2), "loss", loss.item())
