# drawn from: the class "a seed from hash(object)": the hash of an object without __hash__ is its address
"""First-order MAML on sine waves."""
import argparse
import copy
import json

import torch
from tasks import make_tasks
from torch import nn


def build(hidden):
    return nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))


def adapt(model, support, steps, lr):
    """A copy of the model after some steps on the support set."""
    fast = copy.deepcopy(model)
    inner = torch.optim.SGD(fast.parameters(), lr=lr)
    x, y = support
    for _ in range(steps):
        loss = nn.functional.mse_loss(fast(x), y)
        inner.zero_grad()
        loss.backward()
        inner.step()
    return fast


def meta_step(model, outer, tasks, epoch, args):
    outer.zero_grad()
    total = 0.0
    for task in tasks:
        support, (x, y) = task.examples(args.shots, epoch)
        fast = adapt(model, support, args.inner_steps, args.inner_lr)
        loss = nn.functional.mse_loss(fast(x), y)
        for slow, grad in zip(model.parameters(), torch.autograd.grad(loss, list(fast.parameters()))):
            slow.grad = grad if slow.grad is None else slow.grad + grad
        total += loss.item()
    outer.step()
    return total / len(tasks)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tasks", type=int, default=12)
    p.add_argument("--per-step", type=int, default=4)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--shots", type=int, default=10)
    p.add_argument("--inner-steps", type=int, default=2)
    p.add_argument("--inner-lr", type=float, default=0.01)
    p.add_argument("--lr", type=float, default=1e-3)
    args = p.parse_args()
    torch.manual_seed(1)
    tasks = make_tasks(args.tasks)
    model = build(32)
    outer = torch.optim.Adam(model.parameters(), lr=args.lr)
    history = []
    for epoch in range(args.epochs):
        losses = [
            meta_step(model, outer, tasks[i : i + args.per_step], epoch, args) for i in range(0, len(tasks), args.per_step)
        ]
        history.append(sum(losses) / len(losses))
        print(f"epoch {epoch}: query loss {history[-1]:.4f}")
    torch.save(model.state_dict(), "maml.pt")
    with open("history.json", "w") as file:
        json.dump(history, file)


if __name__ == "__main__":
    main()
