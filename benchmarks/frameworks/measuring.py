"""The columns of the table: each a question about one framework, answered by runs in a fresh folder."""

from __future__ import annotations

import ast
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from framework_case import Framework
from weights import hold_the_same

LIMIT = 1200  # seconds a command
LEFT_OUT = {"truth.toml", "__pycache__"}
BESIDE = Path(__file__).parent / "beside"  # first on PYTHONPATH: operators that torchvision lacks
Cell = dict[str, Any]


def check_plain(framework: Framework) -> Cell:
    """The verdict on the script as it is; its weights beside a plain run's, what was counted, CPU time."""
    with _folder(framework) as plain, _folder(framework) as checked:
        took = _time(framework, plain)
        before = _cpu_seconds()
        found = _brief(_ask(framework, checked, "check", "-n", "2"))
        recorded = (_cpu_seconds() - before) / found["runs"]
        return {
            **found,
            "weights": hold_the_same(plain / framework.weights, checked / framework.weights),
            "overhead": round(recorded / took, 2),
            "plain_s": round(took, 1),
            **_count(framework, checked),
        }


def check_planted(framework: Framework) -> Cell:
    """What `check` names where a cause was planted in the user's file."""
    with _folder(framework) as folder:
        lines = plant(framework, folder)
        found = _brief(_ask(framework, folder, "check", "-n", "2"))
    first = (found["causes"] or [{}])[0]
    file, _, number = (first.get("call_site") or "").rpartition(":")
    return {
        **found,
        "line_right": file == framework.plant.file and number.isdigit() and int(number) in lines,
        "planted_at": [lines[0], lines[-1]],
    }


def check_controlled(framework: Framework) -> Cell:
    """The verdict on two runs as `samerun run` makes them, and how many draws of samples are new."""
    with _folder(framework) as folder:
        if framework.augmented:
            _edit(folder, *framework.augmented)
        found = _brief(_ask(framework, folder, "check", "--controlled", "-n", "2"))
        drawn = (folder / "drawn.txt").read_text().splitlines() if framework.augmented else []
        return {**found, "drawn": len(drawn), "distinct": len(set(drawn))}


def resume(framework: Framework) -> Cell:
    """What `samerun resume` says of the framework's own checkpoint."""
    with _folder(framework) as folder:
        options = ["--kill-at", str(framework.resume.kill_at)]
        if framework.resume.command:
            options += ["--resume-with", framework.resume.command]
        values = _ask(framework, folder, "resume", *options)
    return {
        **_brief(values),
        "lacked": [lack["what"] for lack in values.get("lacked", [])],
        "evidence": [lack["evidence"] for lack in values.get("lacked", [])],
    }


COLUMNS = {
    "plain": check_plain,
    "planted": check_planted,
    "resume": resume,
    "controlled": check_controlled,
}


def plant(framework: Framework, folder: Path) -> list[int]:
    """Put the cause into the copy; returns the lines of the statement that it is in."""
    planted = framework.plant
    if planted.also:
        _edit(folder, planted.file, *planted.also)
    _edit(folder, planted.file, planted.old, planted.new)
    text = (folder / planted.file).read_text()
    number = text[: text.index(planted.new) + len(planted.new) - len(planted.new.lstrip())].count("\n") + 1
    return _statement(text, number)


def _statement(text: str, number: int) -> list[int]:
    """The lines of the smallest statement around a line."""
    around = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and node.lineno <= number <= (node.end_lineno or node.lineno)
    ]
    least = min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    return list(range(least.lineno, (least.end_lineno or least.lineno) + 1))


def _edit(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text()
    if text.count(old) != 1:
        raise ValueError(f"{file}: {old!r} is there {text.count(old)} times; an edit needs it once")
    path.write_text(text.replace(old, new))


@contextmanager
def _folder(framework: Framework) -> Iterator[Path]:
    """A folder with a copy of the files, prepared, under a name that does not change from run to run."""
    with tempfile.TemporaryDirectory(prefix="framework-") as temporary:
        folder = Path(temporary) / "work"
        shutil.copytree(framework.folder, folder, ignore=lambda _, names: LEFT_OUT & set(names))
        if (folder / "prepare.py").exists():
            subprocess.run([sys.executable, "prepare.py"], cwd=folder, check=True, env=_environment())
        yield folder


def _time(framework: Framework, folder: Path) -> float:
    """The CPU seconds of a plain run with all its processes. Raises RuntimeError where it fails."""
    before = _cpu_seconds()
    done = _execute(shlex.split(framework.command), folder)
    if done.returncode:
        raise RuntimeError(f"{framework.command}: {(done.stdout + done.stderr)[-3000:]}")
    return _cpu_seconds() - before


def _execute(line: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        line, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=LIMIT, check=False
    )


def _cpu_seconds() -> float:
    """What the commands that have ended took so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _ask(framework: Framework, folder: Path, verb: str, *options: str) -> dict[str, Any]:
    """The values of `--json` of a verb, and what it printed under "text"."""
    out = folder.with_suffix(".json")
    line = [sys.executable, "-m", "samerun", verb, *options, "--json", str(out), "--"]
    done = _execute([*line, *shlex.split(framework.command)], folder)
    if not out.exists():
        raise RuntimeError(f"{verb} gave no result: {(done.stdout + done.stderr)[-3000:]}")
    return {**json.loads(out.read_text()), "text": done.stdout}


def _brief(values: dict[str, Any]) -> Cell:
    """What of a result is kept."""
    kept = ("verdict", "reason", "steps", "first_difference", "notes", "output", "in_play", "text")
    causes = [
        {key: cause.get(key) for key in ("source", "confirmed", "call_site", "evidence")}
        for cause in values["causes"]
    ]
    return {**{key: values.get(key) for key in kept}, "runs": len(values["runs"]), "causes": causes}


def _count(framework: Framework, folder: Path) -> Cell:
    """Steps, backward passes and evaluated batches that the first process recorded, beside the truth."""
    trace = min((folder / ".samerun" / "runs").glob("*/rank0.trace.arrow"))
    with pa.OSFile(str(trace)) as file:
        rows = pa.ipc.open_stream(file).read_all().to_pylist()
    updates = [row for row in rows if row["what"] == "parameters" and row["phase"] == "optimizer"]
    steps = 1 + max(row["step"] for row in updates)
    passes = sum(row["what"] == "loss" for row in rows)
    # a loss that is a module is called beside the model: as often, or less
    called = Counter(row["name"] for row in rows if row["what"] == "output" and row["phase"] == "evaluation")
    counted = [steps, passes, max(called.values(), default=0)]
    return {"counted": counted, "truth": [framework.steps, framework.passes, framework.evaluated]}


def _environment() -> dict[str, str]:
    """The variables of a user who has set none for repeatability."""
    unset = ("SAMERUN", "OMP_", "MKL_", "PYTHONHASHSEED", "PYTHONPATH", "CUBLAS_WORKSPACE_CONFIG")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(unset)}
    kept["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), kept["PATH"]))
    offline = {"HF_HUB_OFFLINE": "1", "YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "0"}
    return {**kept, "PYTHONPATH": str(BESIDE), "OMP_NUM_THREADS": "1", **offline}
