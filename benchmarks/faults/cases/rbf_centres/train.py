# drawn from: the class "scikit-learn before torch": KMeans with random_state=None gives the centres of a network
"""Radial basis functions on digits: centres by k-means, then widths and outputs by gradient descent."""
import argparse
from pathlib import Path

import numpy as np
import torch
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 2024


def load(components):
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, train_size=900, test_size=400, stratify=y, random_state=SEED)
    pca = PCA(components, svd_solver="full", whiten=True).fit(x_train)

    def tensors(x, y):
        return TensorDataset(torch.tensor(pca.transform(x), dtype=torch.float32), torch.tensor(y))

    return tensors(x_train, y_train), tensors(x_test, y_test)


class RBFNet(nn.Module):
    def __init__(self, centres, classes=10):
        super().__init__()
        self.centres = nn.Parameter(torch.as_tensor(centres, dtype=torch.float32))
        distance = torch.cdist(self.centres, self.centres)
        nearest = distance.topk(3, largest=False).values[:, 1:].mean(1)
        self.log_width = nn.Parameter(nearest.log())
        self.out = nn.Linear(len(centres), classes)

    def forward(self, x):
        d2 = (x[:, None] - self.centres).square().sum(2)
        return self.out(torch.exp(-d2 / (2 * self.log_width.exp() ** 2)))


def find_centres(x, k):
    """The quick way: a single start is enough, as the centres are trained further."""
    km = KMeans(k, n_init=1, max_iter=20).fit(x)  # fault: numpy-global
    return km.cluster_centers_[np.argsort(km.cluster_centers_[:, 0])]


def evaluate(model, data):
    x, y = data.tensors
    with torch.no_grad():
        logits = model(x)
    return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--centres", type=int, default=40)
    parser.add_argument("--components", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("rbf.pt"))
    args = parser.parse_args()
    torch.manual_seed(SEED)
    train, test = load(args.components)
    model = RBFNet(find_centres(train.tensors[0].numpy(), args.centres))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for epoch in range(args.epochs):
        for x, y in DataLoader(train, batch_size=90, shuffle=True):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        test_loss, accuracy = evaluate(model, test)
        print(f"epoch {epoch}: loss {loss.item():.4f} test loss {test_loss:.4f} accuracy {accuracy:.3f}")
    torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
