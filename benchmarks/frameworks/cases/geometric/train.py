"""GraphSAGE on parts of a graph, with negative edges: nodes are classified and links predicted."""

import argparse
import os

import torch
import torch.nn.functional as F
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.loader import RandomNodeLoader
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import dropout_edge, erdos_renyi_graph, negative_sampling

parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()

seed_everything(12345)
edges = erdos_renyi_graph(400, 0.02)
data = Data(x=torch.randn(400, 16), edge_index=edges, y=torch.randint(0, 4, (400,)))
data.train_mask = torch.rand(400) < 0.8


class SAGE(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = SAGEConv(16, 32), SAGEConv(32, 4)

    def forward(self, x, edge_index):
        edge_index, _ = dropout_edge(edge_index, 0.2, training=self.training)
        x = F.dropout(self.first(x, edge_index).relu(), 0.5, self.training)
        return self.second(x, edge_index)


loader = RandomNodeLoader(data, num_parts=4, shuffle=True, num_workers=2)
model = SAGE()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
start = 0
if args.resume:
    checkpoint = torch.load("checkpoint.pt")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    start = checkpoint["epoch"] + 1
for epoch in range(start, 3):
    model.train()
    for batch in loader:
        optimizer.zero_grad()
        out = model(batch.x, batch.edge_index)
        far = negative_sampling(batch.edge_index, batch.num_nodes, 50)
        links = (out[far[0]] * out[far[1]]).sum(1).sigmoid().mean()
        loss = F.cross_entropy(out[batch.train_mask], batch.y[batch.train_mask]) + links
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = model(data.x, data.edge_index).argmax(1) == data.y
    print(f"epoch {epoch}: loss {loss:.4f}, test {right[~data.train_mask].float().mean():.4f}")
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(checkpoint, "checkpoint.tmp")
    os.replace("checkpoint.tmp", "checkpoint.pt")
