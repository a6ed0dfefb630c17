# drawn from: the class "a random subset of the points in each closure" (physics-informed networks with LBFGS)
"""Fit u'' = -u by LBFGS on collocation points."""
import random

import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
points = torch.linspace(0, 3, 200).view(-1, 1).requires_grad_()
start = torch.zeros(1, 1, requires_grad=True)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4)


def residual(x):
    u = net(x)
    du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
    return (ddu + u).pow(2).mean()


def boundary():
    u = net(start)
    du = torch.autograd.grad(u.sum(), start, create_graph=True)[0]
    return u.pow(2).sum() + (du - 1).pow(2).sum()


for outer in range(6):
    chosen = random.sample(range(len(points)), 64)  # fault: python-random

    def closure():
        optimizer.zero_grad()
        loss = residual(points[chosen]) + boundary()
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    print(f"outer {outer}  loss {loss.item():.6e}")
