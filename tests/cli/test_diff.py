from __future__ import annotations

import json
from pathlib import Path

from experiments.scripts import Script

from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan
from samerun.runs.store import Run, Store

from .command import called, samerun


def recorded(script: Script, folder: Path, count: int = 2) -> list[Run]:
    return [
        script.record(
            LaunchRequest(["python", "train.py"]), Plan(), Workspace(folder, Store(folder / ".samerun"))
        )
        for _ in range(count)
    ]


def test_equal_runs_are_the_same_and_exit_0(tmp_path: Path) -> None:
    a, b = recorded(Script(), tmp_path)
    done = samerun("diff", a.id, b.id, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("✓ same")


def test_one_differing_gradient_is_exit_1_with_its_step(tmp_path: Path) -> None:
    a, b = recorded(Script(flips=frozenset({(2, 2, "gradients")})), tmp_path)
    done = called("diff", a.id, b.id, "--json", "-", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    first = json.loads(done.stdout)["first_difference"]
    assert (first["step"], first["phase"], first["what"]) == (2, "optimizer", "gradients")
    assert "differs" in done.stderr  # the text makes room for the JSON


def test_a_crash_is_unknown_and_exit_3(tmp_path: Path) -> None:
    a, b = recorded(Script(crashes={2: 1}), tmp_path)
    done = called("diff", a.id, b.id, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout.startswith("? unknown")


def test_two_runs_that_failed_are_not_judged(tmp_path: Path) -> None:
    a, b = recorded(Script(crashes={1: 3, 2: 3}, flips=frozenset({(2, 2, "gradients")})), tmp_path)
    done = called("diff", a.id, b.id, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("? unknown — the command failed in every run: exit code 1 after 3 steps")
    assert "ValueError: no data" in done.stdout


def test_the_json_goes_to_a_file_beside_the_text(tmp_path: Path) -> None:
    a, b = recorded(Script(), tmp_path)
    done = called("diff", str(a.path), b.id[:-1], "--json", "out.json", cwd=tmp_path)
    assert done.stdout.startswith("✓ same")
    assert json.loads((tmp_path / "out.json").read_text())["runs"] == [a.id, b.id]


def test_a_corrupt_trace_is_unknown_without_a_traceback(tmp_path: Path) -> None:
    a, b = recorded(Script(), tmp_path)
    (b.path / "rank0.trace.arrow").write_bytes(b"not a trace")
    done = called("diff", a.id, b.id, cwd=tmp_path)
    assert done.returncode == 3
    assert "Traceback" not in done.stdout + done.stderr
    assert not list((tmp_path / ".samerun").glob("crash-*"))


def test_a_manifest_of_another_schema_is_refused_by_name(tmp_path: Path) -> None:
    a, b = recorded(Script(), tmp_path)
    path = b.path / "manifest.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 99'))
    done = called("diff", a.id, b.id, cwd=tmp_path)
    assert done.returncode == 3
    assert "99" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_locale_without_unicode_does_not_cost_the_report(tmp_path: Path) -> None:
    a, b = recorded(Script(), tmp_path)
    done = samerun("diff", a.id, b.id, cwd=tmp_path, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr
    assert "same" in done.stdout
