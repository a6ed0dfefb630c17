"""Runs made by `samerun run`, looked at afterwards: diff, and runs list, show and remove."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from samerun.runs.store import Run, Store

from .command import called, samerun
from .training import TRAIN


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of one training: two with seed 1, and one with seed 2."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "train.py").write_text(TRAIN)
    for seed in ("1", "1", "2"):
        command = ("run", "--seed", seed, "--", sys.executable, "train.py", "unseeded")
        done = samerun(*command, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copied(recorded: Path, tmp_path: Path) -> tuple[Path, list[Run]]:
    """The same in a folder of its own, to be spoiled."""
    shutil.copytree(recorded, tmp_path / "copied")
    return tmp_path / "copied", Store(tmp_path / "copied" / ".samerun").list()


def test_the_same_seed_gives_the_same_bits(recorded: Path) -> None:
    done = samerun("diff", "last~2", "last~1", cwd=recorded)
    assert (done.returncode, done.stdout[:8]) == (0, "✓ same —")


def test_another_seed_gives_others(recorded: Path) -> None:
    done = called("diff", "last~1", "last", cwd=recorded)
    assert done.returncode == 1
    assert "run A was made with mode strict and seed 1, run B with mode strict and seed 2" in done.stdout
    assert "make both runs under the same control, such as samerun run --seed 1" in done.stdout
    assert ".seed(" not in done.stdout and "manual_seed(" not in done.stdout  # no edit of the code mends it


def test_a_run_is_the_same_as_itself(recorded: Path) -> None:
    assert called("diff", "last", "last", cwd=recorded).returncode == 0


def test_a_truncated_trace_is_unknown(copied: tuple[Path, list[Run]]) -> None:
    folder, (_, b, _) = copied
    trace = b.path / "rank0.trace.arrow"
    trace.write_bytes(trace.read_bytes()[:-600])
    done = called("diff", "last~2", "last~1", cwd=folder)
    assert done.returncode == 3
    assert "the records of rank0 stop before the end of the process in run B" in done.stdout.replace(
        "\n", " "
    )


def test_a_corrupt_trace_is_unknown_and_named(copied: tuple[Path, list[Run]]) -> None:
    folder, (_, b, _) = copied
    (b.path / "rank0.trace.arrow").write_bytes(b"nonsense")
    done = called("diff", "last~2", "last~1", cwd=folder)
    assert done.returncode == 3
    assert "rank0.trace.arrow" in "".join(done.stdout.split())  # the path may be wrapped anywhere
    assert "corrupt" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_an_unknown_schema_names_the_number_found_and_the_one_known(copied: tuple[Path, list[Run]]) -> None:
    folder, (_, b, _) = copied
    path = b.path / "manifest.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 99'))
    done = called("diff", "last~2", "last~1", cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert "has schema 99; this samerun knows 1" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_digests_of_other_algorithms_are_not_compared(copied: tuple[Path, list[Run]]) -> None:
    folder, (_, b, _) = copied
    trace = b.path / "rank0.trace.arrow"
    data = trace.read_bytes()
    assert b"xxh3" in data
    trace.write_bytes(data.replace(b"xxh3", b"xxh9"))
    done = called("diff", "last~2", "last~1", cwd=folder)
    assert done.returncode == 3
    assert "was digested by different algorithms" in done.stdout.replace("\n", " ")


def test_a_folder_that_is_no_run(recorded: Path) -> None:
    done = called("diff", ".", "last", cwd=recorded)
    assert (done.returncode, done.stdout) == (2, "")
    assert "No run '.' in .samerun/runs, and no folder of that name is a run" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_list_show_and_remove(copied: tuple[Path, list[Run]]) -> None:
    folder, (a, b, c) = copied
    listed = called("runs", cwd=folder).stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == [a.id, b.id, c.id]
    assert all(line.endswith("train.py unseeded") for line in listed[1:])
    shown = called("runs", "show", "last", cwd=folder).stdout
    assert "strict, seed 2" in shown
    assert c.id in shown
    removed = called("runs", "remove", a.id, "last", cwd=folder)
    assert (removed.returncode, removed.stdout) == (0, f"removed {a.id}\nremoved {c.id}\n")
    assert [run.id for run in Store(folder / ".samerun").list()] == [b.id]
