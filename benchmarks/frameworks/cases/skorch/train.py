"""A NeuralNetClassifier in a scikit-learn pipeline, with callbacks that save."""

import sys

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from skorch.callbacks import Checkpoint, EpochScoring, LoadInitState
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(20, hidden), nn.ReLU(), nn.Dropout(0.3), nn.Linear(hidden, 2))

    def forward(self, x):
        if self.training:
            x = x + 0.05 * torch.randn_like(x)
        return self.layers(x)


x, y = make_classification(120, random_state=0)
x, y = x.astype(np.float32), y.astype(np.int64)

torch.manual_seed(0)
saving = Checkpoint(dirname="kept", monitor="valid_loss_best", load_best=False)
last = Checkpoint(dirname="kept", fn_prefix="last_", monitor=None)
net = NeuralNetClassifier(
    Net,
    criterion=nn.CrossEntropyLoss,
    optimizer=torch.optim.Adam,
    max_epochs=3,
    lr=0.01,
    batch_size=24,
    iterator_train__shuffle=True,
    iterator_train__num_workers=2,
    callbacks=[EpochScoring("roc_auc"), saving, last]
    + ([LoadInitState(last)] if "--resume" in sys.argv else []),
)
pipeline = make_pipeline(StandardScaler(), net)
pipeline.fit(x, y)
print(f"accuracy {pipeline.score(x, y):.4f}")
net.save_params(f_params="final.pt")
