"""docs/frameworks.md: its code is code, and two old runs are compared as it says."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samerun.errors import FrameworkNeeded

PAGE = (Path(__file__).parents[2] / "docs" / "frameworks.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
MODULES = ("accelerate", "ignite", "lightning", "mmengine", "skorch", "transformers", "ultralytics")


def test_every_framework_has_its_lines() -> None:
    imported = {
        node.module
        for code in BLOCKS
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom)
    }
    assert {f"samerun.integrations.{name}" for name in MODULES} <= imported


@pytest.mark.parametrize("name", MODULES)
def test_what_a_block_gives_samerun_is_taken(name: str) -> None:
    try:
        made = importlib.import_module(f"samerun.integrations.{name}").SameRun
    except FrameworkNeeded as error:  # any other error of an import is a fault of ours
        pytest.skip(str(error))
    (code,) = (block for block in BLOCKS if f"samerun.integrations.{name} import" in block)
    (call,) = (
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "SameRun"
    )
    inspect.signature(made).bind(*call.args, **{str(item.arg): item.value for item in call.keywords})


@pytest.fixture
def first_difference() -> Callable[..., Any]:
    pytest.importorskip("pandas")
    scope: dict[str, Any] = {}
    (code,) = (block for block in BLOCKS if "def first_difference" in block)
    exec(code, scope)
    found: Callable[..., Any] = scope["first_difference"]
    return found


def write(path: Path, rows: list[tuple[int, int, int, int]]) -> Path:
    lines = ["epoch,loss,samerun/digest,samerun/digest_2,samerun/digest_3,step"]
    for step, *digest in rows:  # as Lightning's CSVLogger: what was logged at one step is on several lines
        lines += [f",,{','.join(map(str, digest))},{step}", f"0,0.5,,,,{step}"]
    path.write_text("\n".join(lines))
    return path


def test_two_old_runs_are_compared(first_difference: Callable[..., Any], tmp_path: Path) -> None:
    rows = [(0, 1, 2, 65535), (5, 4, 5, 6), (10, 7, 8, 9)]
    one = write(tmp_path / "one.csv", rows)
    assert first_difference(one, write(tmp_path / "same.csv", rows)) is None
    assert first_difference(one, write(tmp_path / "shorter.csv", rows[:2])) is None
    other = [*rows[:1], (5, 4, 5, 7), (10, 0, 8, 9)]
    assert first_difference(one, write(tmp_path / "other.csv", other)) == 5
    with pytest.raises(AssertionError, match="no step in common"):
        first_difference(one, write(tmp_path / "none.csv", [(1, 1, 1, 1)]))
