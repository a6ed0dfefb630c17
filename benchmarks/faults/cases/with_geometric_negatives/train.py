# drawn from: PyTorch Geometric samples negative edges with Python's generator, though torch is seeded
"""A graph convolution that classifies nodes and predicts links."""

import torch
from torch_geometric.nn import GCNConv
from torch_geometric.utils import dropout_edge, erdos_renyi_graph, negative_sampling

torch.manual_seed(0)
edges = erdos_renyi_graph(2000, 0.004)
x, y = torch.randn(2000, 16), torch.randint(0, 4, (2000,))


class GCN(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(16, 32), GCNConv(32, 4)

    def forward(self, x, edges):
        return self.second(self.first(x, edges).relu(), edges)


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for step in range(10):
    kept, _ = dropout_edge(edges, 0.2)
    far = negative_sampling(edges, num_nodes=2000, num_neg_samples=500)  # fault: python-random
    z = model(x, kept)
    links = (z[far[0]] * z[far[1]]).sum(1).sigmoid().mean()
    loss = torch.nn.functional.cross_entropy(z, y) + links
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
