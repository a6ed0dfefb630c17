# drawn from: HorizonRobotics/alf#296 #592 (the process id is the default seed)
"""Evolution-free baseline: a tiny actor-critic on a bandit with context."""
import os

import torch
from torch import nn
from torch.distributions import Categorical


def get_seed():
    if "SEED" in os.environ:
        return int(os.environ["SEED"])
    return os.getpid()  # fault: process-id


def reward(context, action):
    best = (context[:, 0] > 0).long() + 2 * (context[:, 1] > 0).long()
    return (action == best).float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.Tanh())
        self.pi, self.v = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, c):
        h = self.body(c)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(1)


torch.manual_seed(get_seed())  # fault: process-id
agent = ActorCritic()
opt = torch.optim.Adam(agent.parameters(), lr=3e-3)
for update in range(20):
    context = torch.randn(128, 2)
    pi, v = agent(context)
    action = pi.sample()
    gain = reward(context, action) - v
    loss = (-pi.log_prob(action) * gain.detach()).mean() + gain.pow(2).mean() - 0.01 * pi.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 5 == 0:
        print(f"update {update} loss {loss.item():.4f} reward {reward(context, action).mean().item():.3f}")
