"""The manifest: whole or not at all, and never believed blindly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from samerun.errors import RunError, SchemaError
from samerun.runs.manifest import Manifest
from samerun.runs.schema import SCHEMA

WHOLE = Manifest(
    id="20261120T000000Z-abcdef",
    command=("python", "train.py", "--name", "ü"),
    cwd="/there",
    started="2026-11-20T00:00:00Z",
    tier="ops",
    outcome="failed",
    duration_s=1.5,
    exit_code=-9,
    error="killed",
    steps=7,
    seed=0,
    mode="strict",
    plan={"tier": "ops", "window": [1, 2]},
    git={"commit": "0" * 40, "dirty": False, "diff": None},
    platform="Linux",
    python="3.11.7",
    environment={"OMP_NUM_THREADS": "2"},
    packages={"torch": "2.13.0"},
    settings={"threads": {"threads": 2}},
)


def test_round_trip(tmp_path: Path) -> None:
    WHOLE.write(tmp_path)
    assert Manifest.read(tmp_path) == WHOLE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json"]
    assert json.loads((tmp_path / "manifest.json").read_text())["schema"] == SCHEMA


def test_round_trip_of_a_run_that_just_began(tmp_path: Path) -> None:
    manifest = Manifest("x", ("sh", "train.sh"), "/there", "2026-11-20T00:00:00Z")
    manifest.write(tmp_path)
    assert Manifest.read(tmp_path) == manifest
    assert manifest.outcome == "running"


def test_an_argument_that_is_no_text(tmp_path: Path) -> None:
    Manifest("x", ("python", os.fsdecode(b"caf\xe9.py")), "/there", "").write(tmp_path)
    assert Manifest.read(tmp_path).command[0] == "python"


def test_written_over_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    WHOLE.write(tmp_path)

    def full(self: Path, *args: Any, **kwargs: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        Manifest("y", (), "", "").write(tmp_path)
    monkeypatch.undo()
    assert Manifest.read(tmp_path) == WHOLE
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("schema", [SCHEMA + 1, None, "1"])
def test_a_version_that_is_not_known(tmp_path: Path, schema: object) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({**WHOLE.to_dict(), "schema": schema}))
    with pytest.raises(SchemaError, match=f"knows {SCHEMA}"):
        Manifest.read(tmp_path)


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be read: No such file"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, '{"schema": 1}'])
def test_what_is_not_a_manifest(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RunError, match="damaged"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("outcome", "great"),
        ("command", "python"),
        ("command", [1]),
        ("plan", None),
        ("steps", "7"),
        ("steps", True),
        ("settings", []),
        ("id", None),
    ],
)
def test_values_of_the_wrong_kind(tmp_path: Path, name: str, value: object) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({**WHOLE.to_dict(), name: value}))
    with pytest.raises(RunError, match=f"damaged.*{name}"):
        Manifest.read(tmp_path)


def test_a_key_that_is_not_known_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({**WHOLE.to_dict(), "more": 1}))
    assert Manifest.read(tmp_path) == WHOLE
