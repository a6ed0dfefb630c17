# drawn from: prime-rl#1153, verl#3126: rollouts of many actors lie in the buffer in the order in which they came
"""Fitted value function from rollouts of several actors."""
import argparse

import torch
from rollouts import collect
from torch import nn


class Value(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, state):
        return self.net(state).squeeze(-1)


def minibatches(rollouts, size, generator):
    states, returns = rollouts[..., :3].flatten(0, 1), rollouts[..., 3].flatten()
    for rows in torch.randperm(len(states), generator=generator).split(size):
        yield states[rows], returns[rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--actors", type=int, default=4)
    parser.add_argument("--episodes", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=31)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    model = Value()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    rollouts = torch.from_numpy(collect(args.actors, args.episodes))
    print(f"collected {rollouts.shape[0]} episodes, mean return {rollouts[:, 0, 3].mean().item():.4f}")
    for iteration in range(args.iterations):
        for states, returns in minibatches(rollouts, 128, generator):
            loss = nn.functional.smooth_l1_loss(model(states), returns)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        print(f"iteration {iteration} loss {loss.item():.5f}")
    torch.save(model.state_dict(), "value.pt")


if __name__ == "__main__":
    main()
