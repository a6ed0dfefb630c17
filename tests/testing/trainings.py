"""Small trainings with everything that a real one has: what is to be resumed exactly."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR
from torch.utils.data import Dataset

import samerun.data


class Ema:
    """An average of the weights, with the state that EMAs of training libraries have."""

    def __init__(self, model: nn.Module, decay: float = 0.9) -> None:
        self.shadow = copy.deepcopy(model).requires_grad_(False)
        self.decay = decay
        self.updates = 0

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for mean, weight in zip(self.shadow.parameters(), model.parameters(), strict=True):
            mean.lerp_(weight, 1 - decay)

    def state_dict(self) -> dict[str, Any]:
        return {"shadow": self.shadow.state_dict(), "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.shadow.load_state_dict(state["shadow"])
        self.updates = state["updates"]


class Digits(Dataset[tuple[torch.Tensor, int]]):
    """Digits moved, flipped and made noisy by each of the global generators."""

    def __init__(self, count: int) -> None:
        data = load_digits()
        self.images = data.images[:count].astype(np.float32) / 16
        self.labels = data.target[:count]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = np.roll(self.images[index], random.randint(-1, 1), axis=1)
        if np.random.rand() < 0.5:
            image = image[:, ::-1]
        noisy = torch.from_numpy(image.copy())[None] + 0.05 * torch.randn(1, 8, 8)
        return noisy, int(self.labels[index])


class Text(Dataset[torch.Tensor]):
    """Pieces of a text of 16 letters, cut at a random place."""

    LETTERS = 16
    LENGTH = 12

    def __init__(self, count: int) -> None:
        self.count = count
        self.text = np.random.default_rng(5).integers(self.LETTERS, size=500)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        start = samerun.data.sample_stream("start").numpy().integers(len(self.text) - self.LENGTH - 1)
        return torch.from_numpy(self.text[start : start + self.LENGTH + 1])


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.reshape(batch, length, 2, width // 2).transpose(1, 2)
            for part in self.qkv(self.norms[0](x)).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=True, dropout_p=0.1 if self.training else 0.0
        )
        x = x + self.dropout(self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.mlp(self.norms[1](x)))


class Gpt(nn.Module):
    """Two layers, tied embeddings."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.tokens = nn.Embedding(Text.LETTERS, width)
        self.places = nn.Parameter(torch.zeros(Text.LENGTH, width))
        self.blocks = nn.Sequential(Block(width), Block(width))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, Text.LETTERS, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.norm(self.blocks(self.tokens(text[:, :-1]) + self.places)))
        return F.cross_entropy(logits.flatten(0, 1).float(), text[:, 1:].flatten())


class Cnn(nn.Module):
    """Convolution, batch norm, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            *(
                nn.Conv2d(1, 4, 3),
                nn.BatchNorm2d(4),
                nn.ReLU(),
                nn.Flatten(),
                nn.Dropout(0.2),
                nn.Linear(144, 10),
            )
        )

    def forward(self, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        images, labels = batch
        return F.cross_entropy(self.net(images), labels)


class Training:
    """Epochs of optimizer steps, as a user's loop makes them."""

    def __init__(
        self,
        model: nn.Module,
        loader: Any,
        optimizer: torch.optim.Optimizer,
        scheduler: Any,
        *,
        accumulate: int = 1,
        epochs: int = 2,
        bf16: bool = False,
        forget: str | None = None,
    ) -> None:
        self.model = model
        self.loader = loader
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.ema = Ema(model)
        self.epoch = 0
        self.epochs = epochs
        self.accumulate = accumulate
        self.bf16 = bf16
        self.forget = forget
        self.running = self.run()

    @property
    def objects(self) -> dict[str, Any]:
        kept = ("model", "optimizer", "scheduler", "ema", "loader", "epoch")
        return {name: getattr(self, name) for name in kept if name != self.forget}

    def step(self) -> float:
        return next(self.running)

    def run(self) -> Iterator[float]:
        while self.epoch < self.epochs:
            total = 0.0
            for number, batch in enumerate(self.loader, 1):
                with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
                    loss = self.model(batch) / self.accumulate
                loss.backward()
                total += float(loss.detach())
                if number % self.accumulate == 0:
                    nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.optimizer.step()
                    self.scheduler.step()
                    self.ema.update(self.model)
                    yield total
                    self.optimizer.zero_grad()
                    total = 0.0
            self.epoch += 1


def digits(workers: int = 0, count: int = 64, **options: Any) -> Training:
    model = Cnn()
    loader = samerun.data.DataLoader(Digits(count), batch_size=8, shuffle=True, num_workers=workers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    return Training(model, loader, optimizer, OneCycleLR(optimizer, 0.2, total_steps=99), **options)


def gpt(workers: int = 0, count: int = 32, **options: Any) -> Training:
    model = Gpt()
    loader = samerun.data.DataLoader(Text(count), batch_size=4, shuffle=True, num_workers=workers)
    decayed = [weight for weight in model.parameters() if weight.ndim > 1]
    others = [weight for weight in model.parameters() if weight.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3)
    scheduler = LambdaLR(optimizer, lambda step: min((step + 1) / 3, 0.5 + 0.5 * math.cos(step / 9)))
    return Training(model, loader, optimizer, scheduler, bf16=True, **options)


TRAININGS: dict[str, Callable[..., Training]] = {"digits": digits, "gpt": gpt}
