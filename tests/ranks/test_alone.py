"""One rank, or several that cannot meet.

Covers `store.py`.
"""

from __future__ import annotations

import pytest

from samerun.controls import control
from samerun.errors import UsageError
from samerun.ranks import check_agree, rank_stream, store, sync_seed
from samerun.streams import stream


@pytest.fixture(autouse=True)
def one_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_one_rank_agrees_with_itself() -> None:
    assert sync_seed(5) == 5
    assert sync_seed() != sync_seed()
    check_agree("anything", object())  # nothing is read


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1"])
def test_a_bad_seed_is_refused(seed: object) -> None:
    with pytest.raises(UsageError, match="seed"):
        sync_seed(seed)  # type: ignore[arg-type]


def test_a_rank_stream_is_this_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    first = rank_stream(5, "mask")
    monkeypatch.setenv("RANK", "1")
    assert rank_stream(5, "mask") == stream(5, "rank", 1, "mask") != first


def test_ranks_without_a_place_to_meet_are_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    store._store.cache_clear()
    with pytest.raises(UsageError, match=r"MASTER_ADDR.*torchrun.*init_process_group"):
        sync_seed()


def test_a_seed_drawn_for_the_user_repeats_under_control():
    drawn = []
    for seed in (1, 1, 2):
        with control(seed, only=["os-entropy"]):
            drawn.append([sync_seed(), sync_seed()])
    assert drawn[0] == drawn[1]
    assert len({*drawn[0], *drawn[2]}) == 4
    assert sync_seed() != sync_seed()
