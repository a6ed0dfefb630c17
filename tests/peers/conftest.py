"""A peer where it is installed, and a process that it leaves as it was."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from .faults import absent


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fault(peer, shows, samerun): a row of docs/peers.md")


@pytest.fixture
def peer(request: pytest.FixtureRequest) -> str:
    """The peer whose fault the test shows; without its pinned version the test is skipped."""
    mark = request.node.get_closest_marker("fault")
    reason = absent(mark.kwargs["peer"])
    if reason is not None:
        pytest.skip(reason)
    return str(mark.kwargs["peer"])


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """Peers set variables, flags and seeds for good; the next test must not depend on them."""
    variables = dict(os.environ)
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    algorithms = _algorithms()
    cudnn = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(variables)
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = cudnn
        if _algorithms() != algorithms:  # to set them, even to what they are, imports torch's compiler
            torch.use_deterministic_algorithms(algorithms[0], warn_only=algorithms[1])


def _algorithms() -> tuple[bool, bool]:
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warn_only
