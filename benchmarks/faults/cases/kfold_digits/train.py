# drawn from: the class "KFold(shuffle=True) without random_state" (scikit-learn then draws from np.random)
"""5-fold cross validation of a small MLP."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold

X, Y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32)
Y = torch.tensor(Y)


def train_fold(train_idx, valid_idx):
    torch.manual_seed(2020)
    net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 10))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    net.train()
    for start in range(0, len(train_idx), 256):
        rows = train_idx[start : start + 256]
        loss = nn.functional.cross_entropy(net(X[rows]), Y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(X[valid_idx]).argmax(1) == Y[valid_idx]).float().mean()
    return loss.item(), acc.item()


kf = KFold(n_splits=5, shuffle=True)  # fault: numpy-global
scores = []
for fold, (train_idx, valid_idx) in enumerate(kf.split(np.arange(len(X)))):  # fault: numpy-global
    loss, acc = train_fold(torch.from_numpy(train_idx), torch.from_numpy(valid_idx))
    print(f"fold {fold}: loss {loss:.4f} acc {acc:.4f}")
    scores.append(acc)
print("mean acc", np.mean(scores))
