"""Covers `frozen_imports.py`: variables beside `import torch` go as ever, and what files hold is written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from samerun.launching import frozen_imports

AT_MODULE = """\
import torch
class Last:
    def __del__(self): print("freed", flush=True)
last, file = Last(), open({path!r}, "w")
file.write("written")
"""
IN_FUNCTION = """\
class Last:
    def __del__(self): print("freed", flush=True)
def main():
    import torch
    last, file = Last(), open({path!r}, "w")
    file.write("written")
main()
"""
# In a reference cycle with the script's own function, and freed while what it needs is still there.
IN_CYCLE = """\
import other, torch
def find(): return last, file
last, file = other.Last(), open({path!r}, "w")
file.write("written")
"""
OTHER = """\
import os
class Last:
    def __del__(self): os.write(1, b"freed")
"""
IN_ANOTHER = """\
import sys
sys.path.insert(0, {folder!r})
import other
"""


@pytest.mark.everyday(1)
@pytest.mark.parametrize("program", [AT_MODULE, IN_FUNCTION, IN_ANOTHER, IN_CYCLE])
def test_what_the_script_leaves_open_is_written_and_what_it_holds_is_freed(
    tmp_path: Path, program: str
) -> None:
    path = tmp_path / "left_open.txt"
    other = OTHER if program == IN_CYCLE else AT_MODULE.format(path=str(path))
    (tmp_path / "other.py").write_text(other)
    (tmp_path / "train.py").write_text(program.format(path=str(path), folder=str(tmp_path)))
    for command in ([], ["-m", "samerun", "run", "--", sys.executable]):
        path.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, *command, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert "freed" in done.stdout
        assert path.read_text() == "written"


def _has_finaliser(**values: Any) -> bool:
    module = ModuleType("script")
    vars(module).update(values)
    return frozen_imports._has_finaliser([module])


def _count(ended: list[int]) -> Iterator[int]:
    try:
        yield 1
    finally:
        ended.append(1)


class _Guarded:
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")


class _Freed:
    def __del__(self) -> None:
        pass


def _hold(value: Any) -> Any:
    return lambda: value


def test_objects_that_act_as_they_go_are_found_wherever_the_script_holds_them(tmp_path: Path) -> None:
    with (tmp_path / "text").open("w") as file:
        for value in (_Freed(), _count([]), file):
            own = type("Of", (), {"at": value, "__module__": "script"})
            for held in (value, {"of": [(value,)]}, _hold(value), [value].append, own):
                assert _has_finaliser(held=held)
    assert _has_finaliser(Freed=type("Freed", (_Freed,), {"__module__": "script"}))


def test_a_script_that_holds_no_such_object_is_left_as_it_is() -> None:
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(20)])
    values = {"model": model, "steps": list(range(10_000)), "Freed": _Freed, "out": sys.stdout}
    assert not _has_finaliser(optimizer=torch.optim.AdamW(model.parameters()), guarded=_Guarded(), **values)


def test_more_than_can_be_looked_at_counts_as_one_that_acts() -> None:
    assert _has_finaliser(held=[[number] for number in range(frozen_imports._MOST + 1)])
