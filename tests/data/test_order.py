"""What samplers may hand out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from samerun.data import DataLoader
from samerun.errors import UsageError


class Echo(torch.utils.data.Dataset):
    def __getitem__(self, index: Any) -> torch.Tensor:
        return torch.rand(())


class Key:
    pass


@dataclass
class Named:
    number: int


def drawn(keys: list[Any]) -> list[float]:
    return [batch.item() for batch in DataLoader(Echo(), 1, sampler=keys, seed=0)]


@pytest.mark.parametrize("key", [Key(), (3, Key()), [1, [Key()]], lambda: 3, {"a": Key()}])
def test_an_index_without_a_name_is_refused(key: Any) -> None:
    with pytest.raises(UsageError, match="an address is another one in each run"):
        drawn([key])
    with pytest.raises(UsageError):
        next(iter(DataLoader(Echo(), None, sampler=[key], seed=0)))


def test_any_index_with_a_name_is_taken() -> None:
    keys = [Named(1), (Named(2), "at 0x12"), "object at 0x7f", b"bytes", 1.5, None, {"a": 1}, 2**70]
    again = [Named(1), (Named(2), "at 0x12"), "object at 0x7f", b"bytes", 1.5, None, {"a": 1}, 2**70]
    assert drawn(keys) == drawn(again)
    assert len(set(drawn(keys))) == len(keys)


class Unknown(torch.utils.data.Sampler[int]):
    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __iter__(self) -> Iterator[int]:
        return iter(range(5))

    def __len__(self) -> int:
        raise self.error


@pytest.mark.parametrize("error", [NotImplementedError, TypeError])
def test_a_sampler_whose_len_raises_is_iterated_and_resumed(error: type[Exception]) -> None:
    def loader() -> DataLoader:
        return DataLoader(range(5), 2, sampler=Unknown(error), seed=0)

    assert [batch.tolist() for batch in loader()] == [[0, 1], [2, 3], [4]]
    half = loader()
    next(iter(half))
    again = loader()
    again.load_state_dict(half.state_dict())
    assert [batch.tolist() for batch in again] == [[2, 3], [4]]
