import argparse
import random

import numpy as np
import torch
from torch import nn

from asr.augment import VocalTract


class Recogniser(nn.Module):
    def __init__(self, channels=40, words=8):
        super().__init__()
        self.conv = nn.Conv1d(channels, 32, 5, padding=2)
        self.gru = nn.GRU(32, 32, batch_first=True)
        self.out = nn.Linear(32, words)

    def forward(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.out(self.gru(h)[0][:, -1])


def utterances(n, words=8):
    g = torch.Generator().manual_seed(99)
    y = torch.arange(n) % words
    x = torch.rand(n, 20, 40, generator=g)
    for i in range(n):
        x[i, :, y[i] * 5 : y[i] * 5 + 5] += 0.5
    return x, y


def train(args):
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    x, y = utterances(160)
    augment = VocalTract()
    model = Recogniser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for epoch in range(args.epochs):
        for rows in torch.randperm(len(x)).split(20):
            loss = nn.functional.cross_entropy(model(augment(x[rows])), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.5f}")


def main(argv):
    parser = argparse.ArgumentParser("asr")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("train")
    one.add_argument("--seed", type=int, default=17)
    one.add_argument("--epochs", type=int, default=2)
    one.set_defaults(run=train)
    args = parser.parse_args(argv)
    args.run(args)
