# drawn from: tkipf/pygcn#41 and pytorch/pytorch#51366: nodes numbered by a set, and gathered by x[idx]
"""Link prediction on a made-up citation graph."""
import torch
from torch import nn


def citations(papers=800, links=9000):
    g = torch.Generator().manual_seed(0)
    names = [f"10.{1000 + i % 37}/p{i}" for i in range(papers)]
    ends = (torch.rand(2, links, generator=g) ** 2 * papers).long()
    return [(names[a], names[b]) for a, b in ends.T.tolist()]


class Encoder(nn.Module):
    def __init__(self, nodes, dim):
        super().__init__()
        self.table = nn.Parameter(torch.randn(nodes, dim) * 0.1)
        self.mix = nn.Linear(dim, dim)

    def forward(self, src, dst):
        a, b = self.table[src], self.table[dst]  # fault: nondeterministic-kernels
        return (self.mix(a) * b).sum(1)


torch.manual_seed(0)
pairs = citations()
nodes = {name for pair in pairs for name in pair}
number = {name: i for i, name in enumerate(nodes)}  # fault: hash-seed
src = torch.tensor([number[a] for a, _ in pairs])
dst = torch.tensor([number[b] for _, b in pairs])
model = Encoder(len(nodes), 32)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    wrong = dst[torch.randperm(len(dst))]
    loss = nn.functional.softplus(model(src, wrong) - model(src, dst)).mean()
    opt.zero_grad()
    loss.backward()  # fault: nondeterministic-kernels
    opt.step()
    print(f"step {step} loss {loss.item():.6f}")
