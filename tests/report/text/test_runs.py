"""Recorded runs as a table, and one of them whole."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from samerun.report.text.runs import show_list, show_one
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run


def recorded(folder: Path, name: str = "20261101T120000Z-aaaa", script: str = "train.py") -> Run:
    path = folder / name
    path.mkdir()
    Manifest(
        id=name,
        command=("python", script),
        cwd="/work",
        started="2026-11-01T12:00:00.000+00:00",
        outcome="failed",
        exit_code=3,
        duration_s=1.25,
        steps=7,
    ).write(path)
    return Run(path)


def printed(show: object, what: object) -> list[str]:
    file = io.StringIO()
    show(what, Console(file=file, width=300))  # type: ignore[operator]
    return file.getvalue().splitlines()


def test_one_line_for_each_run(tmp_path: Path) -> None:
    damaged = tmp_path / "20261101T130000Z-bbbb"
    damaged.mkdir()
    (damaged / "manifest.json").write_text("{")
    head, first, second = printed(show_list, [recorded(tmp_path), Run(damaged)])
    assert head.split() == ["run", "when", "(UTC)", "steps", "outcome", "size", "command"]
    assert first.split()[:5] == ["20261101T120000Z-aaaa", "2026-11-01", "12:00:00", "7", "failed"]
    assert first.endswith("python train.py")
    assert second.split()[:4] == ["20261101T130000Z-bbbb", "damaged", "1", "B"]


def test_a_long_command_is_cut_and_shows_nothing_hidden(tmp_path: Path) -> None:
    line = printed(show_list, [recorded(tmp_path, script="\x1b[2J" + "x" * 90)])[1]
    assert line.endswith("x…")
    assert "\x1b" not in line


def test_no_runs_say_how_to_make_one() -> None:
    assert printed(show_list, []) == ["no runs here yet; record some with: samerun check -- python train.py"]


def test_one_run_whole(tmp_path: Path) -> None:
    lines = printed(show_one, recorded(tmp_path))
    said = dict(line.split(None, 1) for line in lines if " " in line and not line.startswith(" "))
    assert (said["command"], said["in"], said["took"]) == ("python train.py", "/work", "1.2 s")
    assert said["exit"].split() == ["code", "3"]
    assert lines[-1].endswith("manifest.json")
