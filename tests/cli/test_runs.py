from __future__ import annotations

from pathlib import Path

from experiments.scripts import Script

from .command import called
from .test_diff import recorded


def test_none_is_said_with_how_to_record_some(tmp_path: Path) -> None:
    done = called("runs", cwd=tmp_path)
    assert done.returncode == 0
    assert "samerun check --" in done.stdout


def test_each_run_has_a_line(tmp_path: Path) -> None:
    a, b = recorded(Script(crashes={2: 1}), tmp_path)
    lines = called("runs", "list", cwd=tmp_path).stdout.splitlines()
    assert len(lines) == 3
    of = {line.split()[0]: line for line in lines[1:]}  # two runs of one second stand in any order
    assert "finished" in of[a.id]
    assert "failed" in of[b.id]
    assert of[a.id].endswith("python train.py")


def test_a_damaged_run_does_not_hide_the_others(tmp_path: Path) -> None:
    a, b = recorded(Script(), tmp_path)
    (a.path / "manifest.json").write_text("{")
    done = called("runs", "list", cwd=tmp_path)
    assert done.returncode == 0
    assert "damaged" in done.stdout
    assert b.id in done.stdout


def test_show_says_what_it_was_and_names_its_files(tmp_path: Path) -> None:
    (a,) = recorded(Script(), tmp_path, 1)
    text = called("runs", "show", "last", cwd=tmp_path).stdout
    for part in (a.id, "python train.py", "finished", "rank0.trace.arrow"):
        assert part in text


def test_remove_deletes_what_is_named_and_nothing_else(tmp_path: Path) -> None:
    a, b, c = recorded(Script(), tmp_path, 3)
    done = called("runs", "remove", a.id, c.id, cwd=tmp_path)
    assert done.returncode == 0
    assert [run.path.exists() for run in (a, b, c)] == [False, True, False]


def test_remove_deletes_nothing_when_one_of_them_is_not_there(tmp_path: Path) -> None:
    (a,) = recorded(Script(), tmp_path, 1)
    assert called("runs", "remove", a.id, "no-such-run", cwd=tmp_path).returncode == 2
    assert a.path.exists()
