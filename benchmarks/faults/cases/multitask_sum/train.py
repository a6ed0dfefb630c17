# drawn from: nengo/nengo#74 (sums over sets: another order, another last bit)
"""One trunk, many heads; the active tasks are kept in a set."""
import torch
import torch.nn as nn

TASKS = ["depth", "normals", "edges", "albedo", "segmentation", "flow", "keypoints", "saliency", "shading", "pose"]


class MultiTask(nn.Module):
    def __init__(self, tasks, dim=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, dim), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Linear(dim, 3) for t in tasks})
        self.active = set(tasks)

    def forward(self, x):
        h = self.trunk(x)
        return {t: self.heads[t](h) for t in self.heads}

    def loss(self, outputs, targets):
        terms = [(outputs[t] - targets[t]).abs().mean() / (i + 1.7) for i, t in enumerate(TASKS)]
        named = dict(zip(TASKS, terms))
        total = 0.0
        for t in self.active:  # fault: hash-seed
            total = total + named[t]  # fault: hash-seed
        return total


def main():
    torch.manual_seed(13)
    net = MultiTask(TASKS)
    x = torch.randn(512, 16)
    targets = {t: torch.randn(512, 3) * 3 for t in TASKS}
    opt = torch.optim.SGD(net.parameters(), lr=0.03)
    for step in range(20):
        rows = torch.randperm(512)[:64]
        loss = net.loss(net(x[rows]), {t: targets[t][rows] for t in TASKS})
        opt.zero_grad()
        (loss / loss.detach()).backward()
        opt.step()
        print("step %d loss %.4f" % (step, loss.item()))


main()
