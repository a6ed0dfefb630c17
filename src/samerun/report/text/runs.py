"""Recorded runs as text: a table of all, or one of them whole."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from samerun.errors import SamerunError
from samerun.report.safe_text import clean, style_text
from samerun.runs.manifest import Manifest
from samerun.runs.store import Run

_HEADS = ("run", "when (UTC)", "steps", "outcome", "size", "command")
_COMMAND = 60  # columns of the command shown in the table
_NUMBERS = {"steps", "size"}  # aligned to the right


def show_list(runs: Sequence[Run], console: Console) -> None:
    """Print one line for each run, oldest first."""
    if not runs:
        console.print(Text("no runs here yet; record some with: samerun check -- python train.py"))
        return
    rows = [_build_row(run) for run in runs]
    wide = [max(len(row[column]) for row in [_HEADS, *rows]) for column in range(len(_HEADS))]
    console.print(Text(_align(_HEADS, wide), style="bold"), soft_wrap=True)
    for row in rows:
        console.print(Text(_align(row, wide)), soft_wrap=True)


def show_one(run: Run, console: Console) -> None:
    """Print what a run's manifest says, and its files. Raises RunError, SchemaError."""
    manifest = run.manifest
    for name, value in _list_facts(manifest):
        console.print(Text(f"{name:<10}", style="dim").append_text(style_text(value)), soft_wrap=True)
    if rate := _format_rate(run):
        console.print(Text(f"{'trace':<10}", style="dim").append_text(style_text(rate)), soft_wrap=True)
    console.print(Text("files", style="dim"))
    for path in sorted(path for path in run.path.iterdir() if not path.is_dir()):
        console.print(style_text(f"  {_format_size(_measure(path)):>9}  {path}"), soft_wrap=True)


def _format_rate(run: Run) -> str:
    """How large its traces are, and by how much they grow with each step."""
    size = sum(map(_measure, run.trace_paths()))
    return f"{_format_size(size)}, {_format_size(size / run.steps)} a step" if run.steps else ""


def _build_row(run: Run) -> tuple[str, ...]:
    size = _format_size(sum(map(_measure, run.path.rglob("*"))))
    try:
        manifest = run.manifest
    except SamerunError as error:
        return (clean(run.id), "", "", "damaged", size, clean(error)[:_COMMAND])
    command = clean(shlex.join(manifest.command))
    if len(command) > _COMMAND:
        command = command[: _COMMAND - 1] + "…"
    steps = "" if manifest.steps is None else str(manifest.steps)
    return clean(run.id), _format_time(manifest), steps, manifest.outcome, size, command


def _measure(path: Path) -> int:
    """The bytes of a regular file, 0 of anything else."""
    found = path.lstat()
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def _list_facts(manifest: Manifest) -> list[tuple[str, str]]:
    ended = manifest.outcome if manifest.error is None else f"{manifest.outcome}: {manifest.error}"
    under = "no control" if manifest.mode is None else f"{manifest.mode}, seed {manifest.seed}"
    facts = [
        ("run", manifest.id),
        ("command", shlex.join(manifest.command)),
        ("in", manifest.cwd),
        ("started", manifest.started),
        ("outcome", ended),
        ("exit code", "" if manifest.exit_code is None else str(manifest.exit_code)),
        ("took", "" if manifest.duration_s is None else f"{manifest.duration_s:.1f} s"),
        ("steps", "" if manifest.steps is None else str(manifest.steps)),
        ("tier", manifest.tier),
        ("control", under),
        ("git", str((manifest.git or {}).get("commit") or "")),
        ("python", manifest.python),
        ("torch", str(manifest.packages.get("torch", ""))),
        ("platform", manifest.platform),
    ]
    return [(name, value) for name, value in facts if value]


def _format_time(manifest: Manifest) -> str:
    return clean(manifest.started)[:19].replace("T", " ")


def _align(row: Sequence[str], wide: Sequence[int]) -> str:
    cells = [
        f"{cell:>{width}}" if head in _NUMBERS else f"{cell:<{width}}"
        for head, cell, width in zip(_HEADS, row, wide, strict=True)
    ]
    return "  ".join(cells).rstrip()


def _format_size(count: float) -> str:
    """Bytes for people, in powers of 1000: 12 B, 3.4 kB, 5.6 MB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
