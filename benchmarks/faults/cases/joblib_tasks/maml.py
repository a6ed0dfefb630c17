# drawn from: joblib/joblib#36 and its like: np.random is seeded in the parent, loky's processes start from entropy
import argparse
import random

import numpy as np
import torch
import torch.nn.functional as F
from tasks import sample_tasks
from torch import nn


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Learner(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x, weights=None):
        if weights is None:
            return self.net(x)
        return torch.func.functional_call(self, weights, (x,))


def adapt(model, x, y, lr):
    weights = dict(model.named_parameters())
    loss = F.mse_loss(model(x, weights), y)
    grads = torch.autograd.grad(loss, list(weights.values()))  # first order
    return {name: w - lr * g for (name, w), g in zip(weights.items(), grads)}


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--meta-batches", type=int, default=8)
    p.add_argument("--tasks", type=int, default=4)
    p.add_argument("--inner-lr", type=float, default=0.02)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    set_seed(args.seed)
    model = Learner(24)
    meta = torch.optim.Adam(model.parameters(), lr=3e-3)
    xs, ys, xq, yq = map(torch.from_numpy, sample_tasks(args.meta_batches * args.tasks))
    for batch in range(args.meta_batches):
        loss = 0.0
        for t in range(batch * args.tasks, (batch + 1) * args.tasks):
            fast = adapt(model, xs[t], ys[t], args.inner_lr)
            loss = loss + F.mse_loss(model(xq[t], fast), yq[t]) / args.tasks
        meta.zero_grad()
        loss.backward()
        meta.step()
        print(f"meta batch {batch}: loss {loss.item():.5f}")
