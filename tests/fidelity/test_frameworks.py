"""Law 2 on the classes that people train with: `make frameworks` installs them and runs this."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fidelity import frameworks, resuming

SCRIPT, RESUMING = Path(frameworks.__file__), Path(resuming.__file__)


def drawn(folder: Path, name: str, workers: int, *, plain: bool = False) -> dict[str, list[float]]:
    command = [sys.executable, str(SCRIPT), name, str(workers)]
    if not plain:
        command = [sys.executable, "-m", "samerun", "run", "--seed", "0", "--", *command]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("DRAWN ")]
    assert done.returncode == 0 and len(lines) == 1, done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, list[float]] = json.loads(lines[0].removeprefix("DRAWN "))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", frameworks.MAKERS)
def test_three_passes_differ_repeat_and_do_not_depend_on_workers(name: str, tmp_path: Path) -> None:
    package, _ = frameworks.MAKERS[name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; `make frameworks` installs it")
    first = drawn(tmp_path, name, 0)
    values = [value for each in first.values() for value in each]
    assert len(first) == frameworks.SIZE and len(set(values)) == frameworks.SIZE * frameworks.PASSES
    assert drawn(tmp_path, name, 0) == first
    workers = drawn(tmp_path, name, 2)
    if name == "persistent":  # torch itself draws no base seed for the second pass
        assert drawn(tmp_path, name, 2) == workers
        assert len({value for each in workers.values() for value in each}) == len(values)
    else:
        assert workers == first
    plain = drawn(tmp_path, name, 0, plain=True)
    assert plain.keys() == first.keys() and plain != first


# --- killed, and resumed from the framework's own checkpoint ------------------------------------------------


def exact(folder: Path, name: str, workers: int, control: list[str]) -> tuple[int, int]:
    """(steps after the resume that trained on what the run never stopped trained on, steps after it)."""

    def steps(folder: Path, *kills: int) -> list[Any]:
        folder.mkdir(parents=True)
        for kill_at in kills:
            (folder / "steps.jsonl").unlink(missing_ok=True)
            command = [sys.executable, str(SCRIPT.with_name("resuming.py")), name, str(workers), str(kill_at)]
            done = subprocess.run(
                [*control, *command], cwd=folder, capture_output=True, text=True, timeout=300
            )
            assert (done.returncode == 0) == (kill_at < 0), done.stdout[-3000:] + done.stderr[-3000:]
        return [json.loads(line) for line in (folder / "steps.jsonl").read_text().splitlines()]

    whole, rest = steps(folder / "whole", -1), steps(folder / "resumed", 10, -1)
    assert len(whole) == resuming.STEPS and 0 < len(rest) < len(whole)
    return sum(a == b for a, b in zip(whole[-len(rest) :], rest, strict=True)), len(rest)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("name", resuming.TRAININGS)
def test_a_resume_is_as_exact_under_control_as_it_is_plain(name: str, workers: int, tmp_path: Path) -> None:
    package, _ = resuming.TRAININGS[name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; `make frameworks` installs it")
    plain, steps = exact(tmp_path / "plain", name, workers, [])
    run = [sys.executable, "-m", "samerun", "run", "--seed", "0", "--"]
    controlled, same_steps = exact(tmp_path / "controlled", name, workers, run)
    print(
        f"RESUMED {name}, {workers} workers: exact steps plain {plain}, controlled {controlled}, of {steps}"
    )
    assert steps == same_steps and controlled >= plain
