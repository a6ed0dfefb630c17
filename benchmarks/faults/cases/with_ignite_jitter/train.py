# drawn from: everything is seeded but Python's generator
"""An ignite engine with an evaluator after each epoch."""

import random

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.metrics import Accuracy
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(x[:512] / 16, dtype=torch.float32), torch.tensor(y[:512]))
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.1)


def jitter(inputs):
    return inputs + random.gauss(0, 0.1)  # fault: python-random


def update(engine, batch):
    inputs, labels = batch
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(jitter(inputs)), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


trainer = Engine(update)
evaluator = create_supervised_evaluator(model, {"accuracy": Accuracy()})


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(DataLoader(data, 64))
    print(f"epoch {engine.state.epoch} loss {engine.state.output:.4f}", evaluator.state.metrics)


trainer.run(DataLoader(data, 64, shuffle=True), max_epochs=3)
