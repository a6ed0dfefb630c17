"""Cluster-GCN on a made graph."""
import networkx as nx
import torch
from clusters import make_graph, partition
from torch import nn


class GCN(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.a = nn.Linear(inputs, hidden)
        self.b = nn.Linear(hidden, classes)

    def forward(self, x, adj):
        return adj @ self.b(torch.relu(adj @ self.a(x)))


def main():
    torch.manual_seed(2)
    graph, labels = make_graph()
    adj = torch.tensor(nx.to_numpy_array(graph), dtype=torch.float32) + torch.eye(len(labels))
    x = torch.randn(len(labels), 16) + nn.functional.one_hot(labels, 16).float()
    model = GCN(16, 32, 4)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    batches = partition(graph)
    for epoch in range(3):
        for nodes in batches:
            a = adj[nodes][:, nodes]
            a = a / a.sum(1, keepdim=True)
            loss = nn.functional.cross_entropy(model(x[nodes], a), labels[nodes])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
