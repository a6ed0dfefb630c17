# drawn from: tkipf/pygcn#41 (classes = set(labels): another numbering in each process)
"""Two-layer GCN on a planted-partition graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(42)


def load_graph(n=120):
    g = torch.Generator().manual_seed(7)
    names = ["physics", "biology", "history", "economics", "geology", "music", "law", "medicine"]
    labels = [names[i % len(names)] for i in range(n)]
    same = torch.tensor([[a == b for b in labels] for a in labels]).float()
    adj = (torch.rand(n, n, generator=g) < 0.02 + 0.2 * same).float()
    adj = ((adj + adj.t()) > 0).float() + torch.eye(n)
    adj = adj / adj.sum(1, keepdim=True)
    return torch.randn(n, 16, generator=g), adj, labels


def encode_onehot(labels):
    classes = set(labels)
    index = {c: i for i, c in enumerate(classes)}  # fault: hash-seed
    return torch.tensor([index[label] for label in labels])


class GCN(nn.Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1 = nn.Linear(nfeat, nhid)
        self.gc2 = nn.Linear(nhid, nclass)

    def forward(self, x, adj):
        x = F.relu(adj @ self.gc1(x))
        x = F.dropout(x, 0.5, training=self.training)
        return F.log_softmax(adj @ self.gc2(x), dim=1)


features, adj, names = load_graph()
labels = encode_onehot(names)
model = GCN(features.shape[1], 16, int(labels.max()) + 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss_train = F.nll_loss(output[:90], labels[:90])
    loss_train.backward()
    optimizer.step()
    print("Epoch: {:04d}".format(epoch + 1), "loss_train: {:.4f}".format(loss_train.item()))
