"""A training a few steps in; the generators of the test process are left as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from samerun.controls import isolate_rng

from .training import Training


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with isolate_rng():
        yield


@pytest.fixture
def training() -> Training:
    begun = Training()
    begun.steps(3)
    return begun
