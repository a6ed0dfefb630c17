"""The python blocks of a page, and what the names in them stand for."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peers.work import Augmented, Net, seed

import samerun
from samerun import layers

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
LIBRARY = ROOT / "docs" / "library.md"
COMING_FROM = ROOT / "docs" / "coming-from.md"

# What tests/peers/test_coming_from.py runs.
BESIDE_PEERS = {
    f"{heading} {number}"
    for heading in ("Lightning", "accelerate", "MMDetection, MMEngine")
    for number in (1, 2)
}


def blocks(page: Path) -> dict[str, str]:
    """Each ```python block by the heading above it and its number there: "As a library 1"."""
    found: dict[str, str] = {}
    heading, number = "", 0
    text = page.read_text(encoding="utf-8")
    for code, title in re.findall(r"^```python\n(.*?)^```$|^#+ ([^\n]*)$|^```.*?^```$", text, re.M | re.S):
        if title:
            heading, number = title, 0
        elif code:
            number += 1
            found[f"{heading} {number}"] = code
    return found


def block(name: str) -> str:
    """One of the README's, of docs/library.md or of docs/coming-from.md; no two have one name."""
    (found,) = (page[name] for page in map(blocks, (README, LIBRARY, COMING_FROM)) if name in page)
    return found


def run(code: str, **names: Any) -> dict[str, Any]:
    """Run a block; what its names stand for afterwards."""
    scope = {"__name__": "page", **names}
    exec(compile(code, "page", "exec"), scope)
    return scope


def other(code: str, old: str, new: str) -> str:
    """The block with something else in it, which must be there."""
    assert old in code
    return code.replace(old, new)


class Stopped(Exception):
    """Instead of a kill."""


class Training:
    """What a reader brings: data, a model with dropout, a step. Stops after so many steps."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.batches: list[torch.Tensor] = []
        self.stop_after = stop_after
        self.names: dict[str, Any] = {
            "random": random,
            "np": np,
            "torch": torch,
            "dataset": Augmented(),
            "seed_worker": seed_worker,
            "build": self.build,
            "train_step": self.step,
        }

    def build(self) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        self.model = Net()
        return self.model, torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self, model: Any, optimizer: Any, batch: torch.Tensor) -> None:
        if len(self.batches) == self.stop_after:
            raise Stopped
        optimizer.zero_grad()
        model(batch).backward()
        optimizer.step()
        self.batches.append(batch.clone())

    def run(self, code: str, **names: Any) -> dict[str, Any]:
        """Run a block as a new process would, up to where it stops."""
        with uncontrolled():
            seed(0)
            try:
                return run(code, **{**self.names, **names})
            except Stopped:
                return {}


def seed_worker(worker_id: int) -> None:
    """As on https://docs.pytorch.org/docs/stable/notes/randomness.html."""
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


@contextmanager
def uncontrolled() -> Iterator[None]:
    """Undoes, at the end, what seed_everything and the recipe do for good."""
    flags = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    try:
        with samerun.isolate_rng():
            yield
    finally:
        layers.take_back()
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = flags
