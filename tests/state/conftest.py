"""A training a few steps in; the generators of the test process are left as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from samerun.controls import isolate_rng

from .training import Training


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with isolate_rng():
        yield


@pytest.fixture
def without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA is not in use, though another test of this process may have had torch initialise it.

    For those where another process takes part, which cannot have the CUDA of this one.
    """
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)


@pytest.fixture
def training() -> Training:
    begun = Training()
    begun.steps(3)
    return begun
