"""audit(): what each framework's checkpoints have and lack, told without executing anything in them.

Covers `archives.py`, `frameworks/accelerate.py`, `frameworks/deepspeed.py`, `frameworks/distributed.py`,
`frameworks/lightning.py`, `frameworks/mmengine.py`, `frameworks/own.py`, `frameworks/plain.py`,
`frameworks/transformers.py`, `parts.py` and `report.py`.
"""

from __future__ import annotations

import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from samerun.data import DataLoader
from samerun.errors import StateError, UsageError
from samerun.state import Audit, audit, capture, save

from ..training import Training
from . import checkpoints

RNGS = {"python-random", "numpy-global", "torch-cpu"}


def lacking(found: Audit) -> set[str]:
    """What is lacking for certain."""
    return {lack.name for lack in found.lacks if not lack.only_if}


def complete() -> dict[str, Any]:
    return {
        **checkpoints.parts(),
        "rng": checkpoints.generators(),
        "loader": DataLoader([1, 2], seed=0).state_dict(),
        "epoch": 3,
    }


def test_a_complete_dict_lacks_nothing() -> None:
    found = audit(complete())
    assert (found.framework, found.lacks, found.exact) == ("plain", (), True)
    assert {*found.has} == {"model", "optimizer", "scheduler", "loader", "step"} | RNGS
    assert "Nothing is lacking" in str(found)


@pytest.mark.parametrize(
    ("left_out", "lacks"),
    [
        ("model", "model"),
        ("optimizer", "optimizer"),
        ("scheduler", "scheduler"),
        ("loader", "loader"),
        ("epoch", "step"),
        ("rng.python", "python-random"),
        ("rng.numpy", "numpy-global"),
        ("rng.cpu", "torch-cpu"),
    ],
)
@pytest.mark.parametrize("form", ["dict", "file", "old file", "pickle"])
def test_each_missing_piece_is_named(tmp_path: Path, left_out: str, lacks: str, form: str) -> None:
    checkpoint = complete()
    outer, _, inner = left_out.partition(".")
    if inner:
        del checkpoint[outer][inner]
    else:
        del checkpoint[outer]
    path = tmp_path / "ckpt.pt"
    if form == "pickle":
        path.write_bytes(pickle.dumps(checkpoint))
    else:
        torch.save(checkpoint, path, _use_new_zipfile_serialization=form == "file")
    found = audit(checkpoint if form == "dict" else path)
    assert lacking(found) == {lacks}
    assert not found.exact and f"{lacks}: " in str(found)


def test_names_do_not_matter() -> None:
    held = checkpoints.parts()
    renamed = {"net": held["model"], "opt_g": held["optimizer"], "s": [held["scheduler"]], "iteration": 5}
    assert {*audit(renamed).has} == {"model", "optimizer", "scheduler", "step"}


def test_a_scheduler_is_lacking_only_if_the_optimizer_had_one() -> None:
    held = checkpoints.parts()
    assert "scheduler" in lacking(audit({"optimizer": held["optimizer"]}))
    optimizer = torch.optim.SGD(nn.Linear(2, 2).parameters())
    assert "scheduler" not in {lack.name for lack in audit({"optimizer": optimizer.state_dict()}).lacks}
    [unknown] = [lack for lack in audit(held["model"]).lacks if lack.name == "scheduler"]
    assert unknown.only_if


def test_what_may_be_needed_is_said_with_its_condition() -> None:
    found = audit(
        {name: value for name, value in complete().items() if name not in ("optimizer", "scheduler")}
    )
    conditions = {lack.name: lack.only_if for lack in found.lacks}
    assert "GPU" in conditions["torch-cuda"] and "GradScaler" in conditions["scaler"]


def test_settings_are_no_progress() -> None:
    checkpoint = {**complete(), "args": {"epoch": 10, "step": 3}, "config": {"epoch": 3}}
    del checkpoint["epoch"]
    checkpoint["loader"] = {"_num_yielded": 3}
    assert "step" in lacking(audit(checkpoint))


@pytest.mark.parametrize("name", ["scaler", "cuda"])
def test_scalers_and_gpu_generators_are_recognised(name: str) -> None:
    values = {"scaler": torch.amp.GradScaler("cpu").state_dict(), "cuda": torch.zeros(16, dtype=torch.uint8)}
    assert audit({"x": [values[name]]}).has == ({"scaler": "scaler", "cuda": "torch-cuda"}[name],)


def test_tensors_from_a_gpu_make_its_generators_needed(tmp_path: Path) -> None:
    path = tmp_path / "ckpt.pt"
    torch.save(complete(), path)
    outline = zipfile.ZipFile(path).read("ckpt/data.pkl")
    moved = outline.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")  # the place of each storage
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ckpt/data.pkl", moved)
    assert lacking(audit(path)) == {"torch-cuda"}


# --- frameworks ---------------------------------------------------------------------------------------------


def test_lightning(tmp_path: Path) -> None:
    found = audit(checkpoints.lightning(tmp_path / "a.ckpt"))
    assert (found.framework, found.version) == ("lightning", "2.6.6")
    assert {*found.has} == {"model", "optimizer", "scheduler", "step"}
    assert {lack.name for lack in found.lacks} == {*RNGS, "loader"}
    assert "loader" in audit(checkpoints.lightning(tmp_path / "b.ckpt", {"batch": 3})).has


def test_accelerate(tmp_path: Path) -> None:
    found = audit(checkpoints.accelerate(tmp_path / "a"))
    assert found.framework == "accelerate"
    assert {*found.has} == {"model", "optimizer", "scheduler", *RNGS}
    assert {lack.name for lack in found.lacks} == {"loader", "step"}
    assert "raises nothing" in str(found)
    assert "loader" in audit(checkpoints.accelerate(tmp_path / "b", stateful=True)).has
    assert "#3996" in str(audit(checkpoints.accelerate(tmp_path / "c", seedable=True)))


def test_accelerate_whose_generators_were_deleted(tmp_path: Path) -> None:
    """What accelerate itself passes over in silence."""
    path = checkpoints.accelerate(tmp_path / "a")
    (path / "random_states_0.pkl").unlink()
    found = audit(path)
    assert found.framework == "accelerate" and lacking(found) >= RNGS


def test_transformers(tmp_path: Path) -> None:
    path = checkpoints.transformers(tmp_path / "checkpoint-3")
    found = audit(path)
    assert found.framework == "transformers"
    assert {*found.has} == {"model", "optimizer", "scheduler", "step", *RNGS}
    assert [lack.name for lack in found.lacks] == ["loader"] and not found.exact
    (path / "rng_state.pth").unlink()
    assert lacking(audit(path)) == RNGS


def test_mmengine(tmp_path: Path) -> None:
    found = audit(checkpoints.mmengine(tmp_path / "iter_6.pth"))
    assert (found.framework, found.version) == ("mmengine", "0.10.7")
    assert {*found.has} == {"model", "optimizer", "scheduler", "scaler", "step"}
    assert {lack.name for lack in found.lacks} == {*RNGS, "loader"}


@pytest.mark.parametrize("inner", [False, True])
def test_deepspeed(tmp_path: Path, inner: bool) -> None:
    path = checkpoints.deepspeed(tmp_path / "a")
    found = audit(path / "global_step3" if inner else path)
    assert (found.framework, found.version) == ("deepspeed", "0.18.0")
    assert {*found.has} == {"model", "optimizer", "step"}
    assert lacking(found) == {*RNGS, "loader"}
    assert "torch-cpu" in audit(checkpoints.deepspeed(tmp_path / "b", rng=torch.get_rng_state())).has


def test_distributed_checkpoint(tmp_path: Path) -> None:
    names = ("optim.state.weight.exp_avg", "optim.state.weight.step", "lr_scheduler", "train_state")
    found = audit(checkpoints.distributed(tmp_path / "a", *names))
    assert found.framework == "torch.distributed.checkpoint"
    assert {*found.has} == {"model", "optimizer", "scheduler", "step"}
    assert lacking(found) == {*RNGS, "loader"}
    names = (
        "m.0.weight",
        "o.state.0.weight.exp_avg",
        "o.param_groups.0.lr",
        "s.last_epoch",
        "m.state.0.weight",
    )
    own = audit(checkpoints.distributed(tmp_path / "c", *names))
    assert own.has == ("model", "optimizer", "scheduler")
    more = audit(checkpoints.distributed(tmp_path / "b", "rng.cuda", "rng.numpy", "dataloader.0"))
    assert {*more.has} == {"model", "torch-cuda", "numpy-global", "loader"}


def test_samerun(tmp_path: Path, training: Training) -> None:
    loader = DataLoader(list(range(8)), 2, seed=0)
    found = audit(capture(**training.objects, loader=loader))
    assert (found.framework, found.lacks, found.exact) == ("samerun", (), True)
    path = tmp_path / "ckpt.pt"
    save(path, **training.objects, epoch=3)
    without = audit(path)
    assert [lack.name for lack in without.lacks] == ["loader"] and not without.exact
    assert "step" in without.has
    assert {lack.name for lack in audit(capture()).lacks} == {
        "model",
        "optimizer",
        "scheduler",
        "loader",
        "step",
    }


def test_samerun_s_files_of_several_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ckpt.pt"
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        save(path, model=nn.Linear(1, 1), epoch=1)
    assert "ranks" not in lacking(audit(path))
    (tmp_path / "ckpt.rank1-of-2.pt").unlink()
    found = audit(path)
    assert "ranks" in lacking(found) and "rank 1 of no save" in str(found)


# --- safety ----------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


@pytest.mark.parametrize("form", ["zip", "old", "pickle"])
def test_nothing_in_a_pickle_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ckpt.pt"
    content = {**complete(), "evil": Evil()}
    if form == "pickle":
        path.write_bytes(pickle.dumps({"epoch": 3, "evil": Evil()}))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=form == "zip")
    found = audit(path)
    assert not (tmp_path / "executed").exists()
    assert "step" in found.has
    pickle.loads(pickle.dumps(Evil()))
    assert (tmp_path / "executed").exists()  # it would have been


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\3\4", b"\x80\x04", b"{", b"\x80\x02cos\nsystem\n"])
def test_what_is_no_checkpoint_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ckpt.pt"
    path.write_bytes(content)
    with pytest.raises(StateError, match="not a whole checkpoint"):
        audit(path)


def test_damaged_files_are_errors_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "ckpt.pt"
    torch.save(complete(), path)
    content, choose = path.read_bytes(), random.Random(0)
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(3):
            damaged[choose.randrange(len(damaged))] = choose.randrange(256)
        path.write_bytes(damaged[: choose.choice([len(damaged), choose.randrange(len(damaged))])])
        try:
            assert isinstance(str(audit(path)), str)
        except StateError:
            pass


@pytest.mark.parametrize("seed", range(4))
def test_damaged_pickles_are_errors_of_ours(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "states.pkl"
    content = pickle.dumps(
        {"python": random.getstate(), "a": [1, {"b": (2, 3)}, Evil], "n": np.arange(3)}, seed + 1
    )
    choose = random.Random(seed)
    for _ in range(150):
        damaged = bytearray(content)
        damaged[choose.randrange(len(damaged))] = choose.randrange(256)
        path.write_bytes(damaged)
        try:
            assert isinstance(str(audit(path)), str)
        except StateError:
            pass


def test_a_pickle_that_refers_to_itself_ends(tmp_path: Path) -> None:
    level: Any = []
    level.append(level)
    for _ in range(40):
        level = [level, level]  # 2**40 paths
    path = tmp_path / "bomb.pkl"
    path.write_bytes(pickle.dumps({"state": level, "param_groups": level, "x": level}))
    assert audit(path).has == ("optimizer",)


@pytest.mark.parametrize("checkpoint", [{}, {"format": "samerun.state"}, {"meta": {"mmengine_version": 1}}])
def test_any_dict_has_an_answer(checkpoint: dict[str, Any]) -> None:
    assert {"model", "optimizer", "loader"} <= lacking(audit(checkpoint))


def test_paths_and_folders_that_are_no_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="could not be read"):
        audit(tmp_path / "no.pt")
    with pytest.raises(UsageError, match="a path or a dict"):
        audit(3)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(StateError, match=r"a folder of no framework known here \(it holds notes.txt\)"):
        audit(tmp_path)
