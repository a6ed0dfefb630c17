# drawn from: scikit-learn's functions draw from NumPy's global generator, which no one has seeded
"""A skorch classifier on the digits."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.utils import shuffle
from skorch import NeuralNetClassifier
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))

    def forward(self, X):
        return self.layers(X)


X, y = load_digits(return_X_y=True)
X, y = (X[:600] / 16).astype(np.float32), y[:600].astype(np.int64)
X, y = shuffle(X, y)  # fault: numpy-global
net = NeuralNetClassifier(
    Net, criterion=nn.CrossEntropyLoss, max_epochs=3, lr=0.1, iterator_train__shuffle=True
)
net.fit(X, y)
print("loss", net.history[-1, "train_loss"])
