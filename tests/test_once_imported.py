"""What happens once a module was imported, now or later: the other half of `import_hook.py`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from samerun.import_hook import call_once_imported, change_once_imported


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that nobody has imported."""
    (tmp_path / "imported_late.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "imported_late", raising=False)
    return "imported_late"


def test_at_once_where_it_is_imported() -> None:
    done: list[int] = []
    call_once_imported("sys", lambda: done.append(1))()
    assert done == [1]


def test_later(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    undo = call_once_imported(late, lambda: done.append(sys.modules[late].value))
    importlib.import_module("colorsys")
    assert done == []
    importlib.import_module(late)
    assert done == [3]
    undo()
    monkeypatch.delitem(sys.modules, late)


def test_given_up(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    before = list(sys.meta_path)
    call_once_imported(late, lambda: done.append(1))()
    assert sys.meta_path == before
    importlib.import_module(late)
    assert done == []
    monkeypatch.delitem(sys.modules, late)


def test_a_change_is_taken_back(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def change() -> object:
        done.append("made")
        return lambda: done.append("taken back")

    back = change_once_imported(late, change)  # type: ignore[arg-type]
    importlib.import_module(late)
    assert done == ["made"]
    back()
    assert done == ["made", "taken back"]
    monkeypatch.delitem(sys.modules, late)
