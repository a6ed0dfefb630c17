"""Only what is known to hold no floating point is exact."""

from __future__ import annotations

from collections import UserDict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch

from samerun.recording.steps.exact_values import is_exact

IDS = torch.arange(4)
Pair = namedtuple("Pair", "x y")


@pytest.mark.parametrize(
    "value",
    [
        IDS,
        torch.zeros(2, dtype=torch.uint8),
        [IDS, IDS > 1],
        {"input_ids": IDS, "names": ["a", "b"]},
        UserDict(ids=IDS),
    ],
)
def test_integers_and_bytes_are(value: Any) -> None:
    assert is_exact(value)


@pytest.mark.parametrize(
    "value",
    [
        torch.zeros(2),
        torch.zeros(2, dtype=torch.complex64),
        [IDS, torch.zeros(1, dtype=torch.bfloat16)],
        {"ids": IDS, "weight": 0.5},
        UserDict(ids=torch.rand(1)),
        Pair(IDS, IDS),  # not known here
        torch.nn.Parameter(torch.zeros(1)),
        np.zeros(1),
        [0] * 5000,
    ],
)
def test_what_rounds_or_is_not_known_is_not(value: Any) -> None:
    assert not is_exact(value)


def test_it_ends_in_what_holds_itself() -> None:
    value: list[Any] = []
    value.append(value)
    assert not is_exact(value)
