"""The models of the recording benchmark: a CNN, a transformer, and two of many small parts."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn


def cnn() -> Step:
    """Three convolution blocks with batch norm and dropout on 64 images of 3 x 32 x 32, SGD."""

    def block(inputs: int, outputs: int) -> list[nn.Module]:
        return [
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]

    model = nn.Sequential(
        *block(3, 32), *block(32, 64), *block(64, 128), nn.Flatten(), nn.Dropout(0.2), nn.Linear(2048, 10)
    )
    x, y = torch.randn(64, 3, 32, 32), torch.randint(10, (64,))
    return train(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), lambda: model(x), y)


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        q, k, v = (
            part.view(batch, time, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        mask = torch.ones(time, time, dtype=torch.bool, device=x.device).triu(1)
        weights = self.dropout(scores.masked_fill(mask, float("-inf")).softmax(-1))
        x = x + self.dropout(self.out((weights @ v).transpose(1, 2).reshape(batch, time, width)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))


class Transformer(nn.Module):
    def __init__(self, vocabulary: int = 96, width: int = 128, time: int = 128, layers: int = 4) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(time, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


def transformer() -> Step:
    """4 layers, width 128, 128 tokens, batch 16, attention written out, AdamW."""
    model = Transformer()
    tokens = torch.randint(96, (16, 129))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    return train(model, optimizer, lambda: model(tokens[:, :-1]), tokens[:, 1:].flatten())


class Step:
    """One step of training: the gradients of what `loss` gives, and one step of the optimizer."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, loss: Callable[[], torch.Tensor]
    ) -> None:
        self.model = model.train()
        self.optimizer = optimizer
        self.loss = loss

    def __call__(self) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    forward: Callable[[], torch.Tensor],
    labels: torch.Tensor,
) -> Step:
    """One step of training: cross entropy of what `forward` gives."""
    return Step(model, optimizer, lambda: F.cross_entropy(forward(), labels))


class Parts(nn.Module):
    """A sum over its parameters."""

    def __init__(self, parameters: int) -> None:
        super().__init__()
        self.parts = nn.ParameterList(nn.Parameter(torch.randn(8)) for _ in range(parameters))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack(list(self.parts)).mul(x)


def parameters() -> Step:
    """10,000 parameters of 8 numbers each, of which only their stack is computed; SGD, momentum."""
    model, x = Parts(10_000), torch.randn(8)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    return train(model, optimizer, lambda: model(x), torch.randint(8, (10_000,)))


def modules() -> Step:
    """5,000 linear layers of 4 x 4 with a bias, one after the other: 10,000 small parameters, AdamW."""
    model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(5_000)))
    x, y = torch.randn(2, 4), torch.randint(4, (2,))
    return train(model, torch.optim.AdamW(model.parameters(), 1e-3), lambda: model(x), y)


MODELS = {"cnn": cnn, "transformer": transformer, "parameters": parameters, "modules": modules}
