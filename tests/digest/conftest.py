from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from samerun.digest.device import DeviceSlots
from samerun.digest.tensors import digest_tensor

Digest = Callable[[torch.Tensor], bytes]


def mix128(t: torch.Tensor) -> bytes:
    """The device algorithm on the host, in torch operations."""
    slots = DeviceSlots("cpu", capacity=4)
    slots.add(t)
    return slots.read()[0]


@pytest.fixture(scope="module", params=[digest_tensor, mix128], ids=["xxh3-128", "mix128"])
def digest(request: pytest.FixtureRequest) -> Digest:
    """Both algorithms: what one tells apart, so must the other."""
    algorithm: Digest = request.param
    return algorithm


def every_dtype() -> list[torch.dtype]:
    """Each dtype that this torch has."""
    found = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    return sorted(found, key=str)


@pytest.fixture(params=every_dtype(), ids=str)
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    value: torch.dtype = request.param
    return value


@pytest.fixture
def dtypes() -> list[torch.dtype]:
    return every_dtype()
