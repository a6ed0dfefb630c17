# drawn from: gymnasium's environments take their seed in reset(seed=…), which is left out
"""Advantage actor-critic on four CartPoles."""

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)
envs = gym.make_vec("CartPole-v1", num_envs=4, vectorization_mode="sync")
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
observed, _ = envs.reset()  # fault: numpy-generator
for update in range(8):
    logs, values, rewards = [], [], []
    for _ in range(16):
        out = net(torch.as_tensor(observed))
        policy = Categorical(logits=out[:, :2])
        action = policy.sample()
        observed, reward, *_ = envs.step(action.numpy())
        logs.append(policy.log_prob(action))
        values.append(out[:, 2])
        rewards.append(torch.as_tensor(reward, dtype=torch.float32))
    total, returns = torch.zeros(4), []
    for reward in reversed(rewards):
        total = reward + 0.99 * total
        returns.insert(0, total)
    advantage = torch.stack(returns) - torch.stack(values)
    loss = -(torch.stack(logs) * advantage.detach()).mean() + advantage.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"update {update} loss {loss.item():.4f}")
