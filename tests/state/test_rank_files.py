"""One file per rank, of one save; another number of ranks gets what can be exact, and new streams.

Ranks take turns here, in one process without a process group; test_ranks.py has real ones.

Covers `reshard.py` and `saving.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from samerun.data import DataLoader, Sampler
from samerun.errors import StateError
from samerun.state import files, load, rank_files, save

As = Callable[[int, int], None]


@pytest.fixture
def as_rank(monkeypatch: pytest.MonkeyPatch) -> As:
    def become(rank: int, world_size: int) -> None:
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", str(world_size))

    return become


class Counter:
    """An object of a rank's own."""

    def __init__(self, count: int) -> None:
        self.count = count

    def state_dict(self) -> dict[str, int]:
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.count = state["count"]


def _objects(rank: int, world_size: int = 2) -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    loader = _loader(8 // world_size)
    generators = {"shared": torch.Generator().manual_seed(5), "own": random.Random(rank)}
    return {
        "model": model,
        "optimizer": torch.optim.AdamW(model.parameters()),
        "loader": loader,
        **generators,
    }


def _loader(batch_size: int) -> DataLoader:
    """Of this rank's share of 64 samples."""
    return DataLoader(list(range(64)), batch_size, sampler=Sampler(64, seed=1), seed=1)


def _seed(rank: int) -> None:
    random.seed(rank)
    np.random.seed(rank)
    torch.manual_seed(11)  # the same on all ranks, as in most scripts


def _saved(path: Path, as_rank: As, world_size: int = 2, **more: Callable[[int], Any]) -> None:
    for rank in range(world_size):
        as_rank(rank, world_size)
        objects = _objects(rank, world_size)
        _seed(rank)
        save(path, **objects, epoch=3, **{name: make(rank) for name, make in more.items()})


def _draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.rand()), torch.rand(1).item()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ckpt.pt"


def test_each_rank_has_its_own_file_and_goes_on_from_it(path: Path, as_rank: As) -> None:
    _saved(path, as_rank, counter=Counter)
    assert sorted(each.name for each in path.parent.iterdir()) == ["ckpt.rank0-of-2.pt", "ckpt.rank1-of-2.pt"]
    for rank in (1, 0):
        as_rank(rank, 2)
        counter, objects = Counter(-1), _objects(rank)
        _seed(rank)
        expected = _draws(), objects["own"].random()
        _seed(99)
        objects = _objects(rank)
        assert load(path, **objects, counter=counter) == {"epoch": 3}
        assert (_draws(), objects["own"].random(), counter.count) == (*expected, rank)


@pytest.mark.parametrize("name", ["ckpt", "ckpt.v1.pt", "a.b.rank1-of-2.pt"])
def test_any_name_will_do(tmp_path: Path, as_rank: As, name: str) -> None:
    _saved(tmp_path / name, as_rank)
    for rank in range(2):
        as_rank(rank, 2)
        load(tmp_path / name, **_objects(rank))


def test_a_missing_file_of_this_rank_is_named(path: Path, as_rank: As) -> None:
    _saved(path, as_rank)
    rank_files.name_file(path, 1, 2).unlink()
    as_rank(1, 2)
    with pytest.raises(StateError, match=r"not of one save.*rank 1 of no save"):
        load(path, **_objects(1))


def test_the_file_of_another_rank_is_refused(path: Path, as_rank: As) -> None:
    _saved(path, as_rank)
    rank_files.name_file(path, 1, 2).write_bytes(rank_files.name_file(path, 0, 2).read_bytes())
    as_rank(1, 2)
    with pytest.raises(StateError, match="the state is of rank 0 of 2, and this is rank 1 of 2"):
        load(path, **_objects(1))


# --- another number of ranks ------------------------------------------------------------------------------


@pytest.mark.parametrize(("saved", "here"), [(2, 1), (2, 4), (1, 2)])
def test_it_says_what_can_be_exact_and_what_cannot(path: Path, as_rank: As, saved: int, here: int) -> None:
    _saved(path, as_rank, saved, counter=Counter)
    as_rank(0, here)
    objects = _objects(0, here)
    before = {key: value.clone() for key, value in objects["model"].state_dict().items()}
    with pytest.raises(StateError) as error:
        load(path, **objects, counter=Counter(0))
    text = str(error.value)
    assert f"saved by {saved} rank" in text and f"here {'is' if here == 1 else 'are'} {here}" in text
    exact, _, lost = text.partition("Not:")
    for name in ("model", "optimizer", "loader", "epoch", "shared"):
        assert name in exact.partition("Exact")[2] and name not in lost.partition("load(")[0]
    assert "while the ranks' batches together are as large as before" in exact
    assert "python-random" in lost and "numpy-global" in lost and "other_world=True" in lost
    if saved == 2:
        assert "own" in lost and "counter, which differed" in lost
    assert all(torch.equal(value, before[key]) for key, value in objects["model"].state_dict().items())


def test_what_can_be_exact_is_and_the_rest_gets_new_streams(path: Path, as_rank: As) -> None:
    _saved(path, as_rank, counter=Counter)
    drawn = []
    for rank in range(4):
        as_rank(rank, 4)
        objects = _objects(rank, 4)
        with torch.no_grad():
            objects["model"].weight.zero_()
        objects["shared"].manual_seed(0)
        values = load(path, other_world=True, **objects)
        assert values == {"epoch": 3}
        assert torch.equal(objects["model"].weight, _objects(0)["model"].weight)
        again = torch.Generator().manual_seed(5)
        assert torch.rand(1, generator=objects["shared"]) == torch.rand(1, generator=again)
        load(path, other_world=True, **objects)
        drawn.append((*_draws(), objects["own"].random()))
    python, numpy, torch_, own = zip(*drawn, strict=True)
    for streams in (python, numpy, own):
        assert len(set(streams)) == 4  # each rank's its own
    assert set(torch_) == {_continued()}  # the same on both ranks that saved, so on all ranks here
    as_rank(0, 4)
    objects = _objects(0, 4)
    load(path, other_world=True, **objects)
    assert (*_draws(), objects["own"].random()) == drawn[0]  # derived from the checkpoint: repeatable


def _continued() -> float:
    _seed(0)
    return torch.rand(1).item()


def test_one_rank_s_streams_are_not_given_to_several(path: Path, as_rank: As) -> None:
    _saved(path, as_rank, 1)
    drawn = set()
    for rank in range(2):
        as_rank(rank, 2)
        load(path, other_world=True, **_objects(rank))
        drawn.add(_draws())
    assert len({number for draws in drawn for number in draws}) == 6


def test_the_same_number_of_ranks_is_exact_with_other_world_too(path: Path, as_rank: As) -> None:
    _saved(path, as_rank, counter=Counter)
    as_rank(1, 2)
    _seed(1)
    expected, counter = _draws(), Counter(9)
    load(path, other_world=True, **_objects(1), counter=counter)
    assert (_draws(), counter.count) == (expected, 1)


def test_objects_of_one_rank_are_not_given_to_another(path: Path, as_rank: As) -> None:
    _saved(path, as_rank, counter=Counter, rank=lambda rank: rank)
    as_rank(0, 1)
    with pytest.raises(StateError, match=r"counter differed from rank to rank.*leave it out"):
        load(path, other_world=True, **_objects(0, 1), counter=Counter(0))
    assert load(path, other_world=True, **_objects(0, 1)) == {"epoch": 3}  # and no `rank`


def test_a_model_that_differs_between_ranks_is_named_by_its_entries(path: Path, as_rank: As) -> None:
    for rank in range(2):
        as_rank(rank, 2)
        model = nn.BatchNorm1d(2)
        model.running_mean += rank
        save(path, model=model)
    as_rank(0, 1)
    with pytest.raises(StateError, match=r"model differed from rank to rank \(running_mean\)"):
        load(path, other_world=True, model=nn.BatchNorm1d(2))


@pytest.mark.parametrize("damage", ["flip", "missing"])
def test_every_file_of_the_other_world_is_needed(path: Path, as_rank: As, damage: str) -> None:
    _saved(path, as_rank)
    second = rank_files.name_file(path, 1, 2)
    content = bytearray(second.read_bytes())
    content[1000] ^= 1
    second.write_bytes(content) if damage == "flip" else second.unlink()
    as_rank(0, 1)
    with pytest.raises(StateError, match="damaged" if damage == "flip" else "rank 1 of no save"):
        load(path, other_world=True, **_objects(0, 1))


def test_a_loader_whose_global_batch_changed_is_refused(path: Path, as_rank: As) -> None:
    _saved(path, as_rank)
    as_rank(0, 1)
    objects = _objects(0, 1)
    objects["loader"] = _loader(4)
    with pytest.raises(StateError, match="batches"):
        load(path, other_world=True, **objects)


def test_the_ranks_loaders_go_on_together(path: Path, as_rank: As) -> None:
    """The k-th batches of all ranks hold the same samples as those of the ranks that saved."""
    expected: list[set[int]] = [set() for _ in range(5)]
    for rank in range(2):
        as_rank(rank, 2)
        loader = _loader(4)
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        save(path, loader=loader)
        for at, batch in enumerate(batches):
            expected[at] |= {*batch.tolist()}
    found: list[set[int]] = [set() for _ in range(5)]
    for rank in range(4):
        as_rank(rank, 4)
        loader = _loader(2)
        load(path, other_world=True, loader=loader)
        for at, batch in enumerate(loader):
            found[at] |= {*batch.tolist()}
    assert found == expected
    assert [len(batch) for batch in found] == [8] * 5


def test_saving_removes_the_files_of_another_number_of_ranks(path: Path, as_rank: As) -> None:
    """Else a later run of 2 ranks would go on from a state older than the last."""
    _saved(path, as_rank, 2)
    keep = path.with_name("ckpt2.rank0-of-2.pt")
    keep.write_bytes(b"another's")
    _saved(path, as_rank, 1)
    assert sorted(each.name for each in path.parent.iterdir()) == ["ckpt.pt", keep.name]
    _saved(path, as_rank, 4)
    names = [f"ckpt.rank{rank}-of-4.pt" for rank in range(4)]
    assert sorted(each.name for each in path.parent.iterdir()) == [*names, keep.name]


def test_files_that_are_not_ours_are_never_removed(path: Path, as_rank: As) -> None:
    torch.save({"weights": torch.ones(1)}, path)
    _saved(path, as_rank, 2)
    assert torch.load(path, weights_only=True)["weights"].item() == 1


def test_two_checkpoints_at_one_path_are_not_chosen_between(path: Path, as_rank: As) -> None:
    _saved(path, as_rank, 2)
    kept = {each: each.read_bytes() for each in path.parent.iterdir()}
    _saved(path, as_rank, 1)
    for file, content in kept.items():
        file.write_bytes(content)
    for world_size in (1, 2, 4):
        as_rank(0, world_size)
        with pytest.raises(StateError, match="checkpoints of 1 and of 2 ranks"):
            load(path, other_world=True, **_objects(0, world_size))


# --- a kill between the first renaming and the last ---------------------------------------------------------


def _agreed(path: Path, save_: str, value: int, named: tuple[bool, bool], as_rank: As) -> None:
    """A save of two ranks in a process group, killed when only those `named` had their names."""
    from samerun.state import capture

    for rank in range(2):
        as_rank(rank, 2)
        label = files.Label(rank, 2, save_ * 32, agreed=True)
        staged = files.StagedFile(rank_files.name_file(path, rank, 2), capture(value=value), label)
        if named[rank]:
            staged.publish()


@pytest.mark.parametrize(
    ("named", "value"),
    [((False, False), 1), ((True, False), 2), ((False, True), 2), ((True, True), 2)],
    ids=["none", "first", "second", "both"],
)
def test_a_kill_between_the_ranks_renamings_loses_nothing(
    path: Path, as_rank: As, named: tuple[bool, bool], value: int
) -> None:
    _agreed(path, "a", 1, (True, True), as_rank)
    _agreed(path, "b", 2, named, as_rank)
    for rank in range(2):
        as_rank(rank, 2)
        assert load(path)["value"] == value
    as_rank(0, 1)
    assert load(path, other_world=True)["value"] == value
    for rank in range(2):  # and the next save clears up
        as_rank(rank, 2)
        save(path, value=3)
    assert len(list(path.parent.iterdir())) == 2


def test_files_of_two_saves_are_refused(path: Path, as_rank: As) -> None:
    _agreed(path, "a", 1, (True, True), as_rank)
    old = rank_files.name_file(path, 1, 2).read_bytes()
    _agreed(path, "b", 2, (True, True), as_rank)
    rank_files.name_file(path, 1, 2).write_bytes(old)
    for rank, size in ((0, 2), (1, 2), (0, 1)):
        as_rank(rank, size)
        with pytest.raises(
            StateError, match=r"not of one save: rank 1 of save aaaaaaaa; rank 0 of save bbbbbbbb"
        ):
            load(path, other_world=True)
