"""Covers `own_variables.py`: which variables a lock keeps, and what of their values."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from samerun.experiments.lock.own_variables import NOT_SET, is_text, list_own_variables, read_variables
from samerun.experiments.verify.changed import list_changed_variables
from samerun.runs.lock.content import LockedCode

CODE = """
import os
lr = float(os.environ.get("LR", "0.1"))
fast = os.environ["FAST"] == "true"
tag, key = os.getenv("RUN_TAG"), os.getenv("API_KEY")
data, port, rank = os.environ.get("DATA_DIR"), os.environ.get("MASTER_PORT"), os.environ["LOCAL_RANK"]
threads, named = os.environ.get("OMP_NUM_THREADS"), os.environ.get(tag)
other = os.environ.get("OTHER")
"""


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LR", "0.5")
    monkeypatch.setenv("FAST", "true")
    monkeypatch.setenv("RUN_TAG", "first")
    monkeypatch.setenv("API_KEY", "12345")
    monkeypatch.setenv("OTHER", "/home/someone/data")
    monkeypatch.delenv("LATER", raising=False)


def test_numbers_are_shown_texts_are_digests_and_what_is_of_the_place_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    found = list_own_variables(tmp_path, ["train.py", "gone.py"])
    assert list(found) == ["FAST", "LR", "RUN_TAG"]
    assert (found["FAST"], found["LR"]) == ("true", "0.5")
    assert is_text(found["RUN_TAG"]) and "first" not in found["RUN_TAG"]
    assert read_variables(["LATER"]) == {"LATER": NOT_SET}


def test_a_lock_cannot_have_a_secret_shown() -> None:
    assert read_variables(["API_KEY", "HOME", "LR"]) == {"LR": "0.5"}


def test_what_changed_since(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = read_variables(["LR", "RUN_TAG", "LATER"])
    lock = SimpleNamespace(code=LockedCode("0" * 32, variables=kept))
    assert list_changed_variables(lock) == ()
    monkeypatch.setenv("LR", "0.5000001")
    monkeypatch.setenv("RUN_TAG", "second")
    assert [item.text for item in list_changed_variables(lock, texts=False)] == ["LR: 0.5 → 0.5000001"]
    assert [item.name for item in list_changed_variables(lock)] == ["LR", "RUN_TAG"]
