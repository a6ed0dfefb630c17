"""A function's bits, kept in a file. Covers `function_lock.py`."""

from __future__ import annotations

import unittest
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from samerun.errors import RunError, SamerunError, SchemaError, UsageError
from samerun.ranks.named_digests import list_entries
from samerun.testing import assert_locked
from samerun.testing.function_lock import digest_entries, read_function_lock, write_function_lock


def train(rate: float = 0.1) -> dict[str, object]:
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    data = torch.rand(8, 4)
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    return {"data": data, "loss": loss.item(), "model": model}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "locks" / "train.lock"
    assert assert_locked(train, place, update=True) == ()
    return place


def test_the_same_function_gives_the_locked_bits(path: Path) -> None:
    before = path.read_text()
    assert assert_locked(train, path) == ()
    assert assert_locked(train, path, update=True) == () and path.read_text() == before
    assert str(path.parent) not in before


def test_what_moved_is_named_and_an_update_keeps_it(path: Path) -> None:
    with pytest.raises(AssertionError, match=r"moved: model\.weight, model\.bias; not moved: data, loss"):
        assert_locked(lambda: train(0.2), path)
    assert assert_locked(lambda: train(0.2), path, update=True) == ("model.weight", "model.bias")
    assert_locked(lambda: train(0.2), path)


def test_one_bit_is_enough(path: Path) -> None:
    def flipped() -> dict[str, object]:
        found = train()
        data = found["data"]
        assert isinstance(data, torch.Tensor)
        data.view(torch.int32)[3, 2] ^= 1
        return found

    with pytest.raises(AssertionError, match="moved: data;"):
        assert_locked(flipped, path)


def test_without_a_lock_it_fails_and_what_differs_is_not_locked(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="pytest --samerun-update"):
        assert_locked(train, tmp_path / "a.lock")
    calls: list[int] = []
    with pytest.raises(AssertionError, match="runs are not the same"):
        assert_locked(lambda: [calls.append(1), len(calls)][1:], tmp_path / "a.lock", update=True)
    assert not (tmp_path / "a.lock").exists()
    with pytest.raises(UsageError, match="nothing to compare"):
        assert_locked(lambda: None, tmp_path / "a.lock", update=True)


def test_another_machine_is_skipped_unless_its_bits_are_the_locked_ones(path: Path) -> None:
    lock = read_function_lock(path)
    assert lock is not None
    ((_, values),) = lock.environments.items()
    write_function_lock(replace(lock, environments={"0ther": values}), path)
    assert_locked(train, path)
    with pytest.raises(unittest.SkipTest, match="not in"):
        assert_locked(lambda: train(0.2), path)
    assert assert_locked(lambda: train(0.2), path, update=True) == ()  # it is added
    assert_locked(lambda: train(0.2), path)
    assert_locked(train, path)


def test_what_changed_around_it_is_named(path: Path) -> None:
    lock = read_function_lock(path)
    assert lock is not None
    ((id_, values),) = lock.environments.items()
    older = replace(values, conditions={**values.conditions, "torch": "2.0.0"})
    write_function_lock(replace(lock, environments={id_: older}), path)
    with pytest.raises(AssertionError, match=r"Since the lock: torch 2\.0\.0 → "):
        assert_locked(lambda: train(0.2), path)


def test_another_seed_is_another_question(path: Path) -> None:
    with pytest.raises(UsageError, match="is of seed 0 and mode strict, and seed 5"):
        assert_locked(train, path, seed=5)


@pytest.mark.parametrize(
    "text, error",
    [
        ("version = 2\n", SchemaError),
        ("not toml", RunError),
        ("environment = 3\n", RunError),
        ("[environment.a]\nmachine = 3\n", RunError),
        ("[environment.a]\nmachine = {}\nconditions = {}\nvalues = {a = 1}\n", RunError),
    ],
)
def test_a_damaged_lock_is_refused(path: Path, text: str, error: type[SamerunError]) -> None:
    head = "".join(path.read_text().splitlines(keepends=True)[:5])
    path.write_text(text if text.startswith(("version", "not")) else head + text)
    with pytest.raises(error):
        assert_locked(train, path)


def test_of_many_values_those_that_begin_alike_have_one_line() -> None:
    many = {"a": {str(n): n for n in range(80)}, "b": {str(n): n for n in range(80)}}
    found = digest_entries(list_entries(many))
    assert set(found) == {"a", "b"}
    many["b"]["7"] = 8
    again = digest_entries(list_entries(many))
    assert again["a"] == found["a"] and again["b"] != found["b"]
