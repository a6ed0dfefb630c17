"""A copy of a case's files without the comments that give the fault away, and its accepted lines."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from samerun.launching.notebook import build_command
from scoring.case import Case, Fault

MARK = re.compile(r"\s*# fault: ([a-z-]+)\s*$")
HEADER = re.compile(r"^# drawn from: ")
LEFT_OUT = {"truth.toml", "__pycache__"}
COMMENTED = {".py", ".sh"}  # files that may hold marks


@dataclass(frozen=True)
class Line:
    """A line that is accepted as the place of a fault."""

    source: str
    file: str
    number: int  # 1-based, in the copy


def copy(case: Case, folder: Path) -> list[Line]:
    """Copy the case into a new folder; returns every accepted line."""
    lines: list[Line] = []
    folder.mkdir(parents=True)
    for path in sorted(case.folder.rglob("*")):
        inside = path.relative_to(case.folder)
        if path.is_dir() or LEFT_OUT & set(inside.parts):
            continue
        (folder / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / inside)
        if path.suffix == ".ipynb":
            lines += strip_notebook(folder / inside)
        if path.suffix not in COMMENTED:
            continue
        text, marked = strip(path.read_text())
        (folder / inside).write_text(text)
        for source, number in marked:
            numbers = statement(text, number) if path.suffix == ".py" else [number]
            lines += [Line(source, path.name, each) for each in numbers]
    return lines


def strip_notebook(path: Path) -> list[Line]:
    """Take the marks out of a notebook's cells; a cell that writes a module is that module."""
    content = json.loads(path.read_text())
    lines: list[Line] = []
    number = 0
    for cell in content["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code" or not text.strip():
            continue
        number += 1
        text, marked = strip(text)
        kept = text.rstrip("\n")
        cell["source"] = kept if isinstance(cell["source"], str) else kept.splitlines(keepends=True)
        first = text.split("\n", 1)[0].split()
        for source, at in marked:
            written = first[0] == "%%writefile"
            file, skipped = (first[-1], 1) if written else (f"{path.name}[{number}]", 0)
            lines.append(Line(source, file, at - skipped))
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return lines


def strip(text: str) -> tuple[str, list[tuple[str, int]]]:
    """The text without its marks, and for each mark (source, 1-based line in the new text)."""
    kept: list[str] = []
    marked: list[tuple[str, int]] = []
    for line in text.splitlines():
        if HEADER.match(line):
            continue
        found = MARK.search(line)
        if found:
            line = line[: found.start()]
        kept.append(line)
        if found:
            marked.append((found[1], len(kept)))
    return "\n".join(kept) + "\n", marked


def statement(text: str, number: int) -> range:
    """The lines of the smallest statement at a line: of a loop or a function, its head alone."""
    best = range(number, number + 1)
    smallest = None
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        end = body[0].lineno - 1 if body else node.end_lineno or node.lineno
        lines = range(node.lineno, max(end, node.lineno) + 1)
        if number in lines and (smallest is None or len(lines) <= smallest):
            best, smallest = lines, len(lines)
    return best


def mend(folder: Path, fault: Fault) -> None:
    """Take one fault out of a copy by its replacements; ValueError when a text is not there exactly once."""
    for file, old, new in fault.mend:
        path = folder / file
        text = path.read_text()
        if text.count(old) != 1:
            raise ValueError(f"{file}: {old!r} is there {text.count(old)} times; a mend needs it once")
        path.write_text(text.replace(old, new))


def command(case: Case) -> list[str]:
    """What runs the case in its copy."""
    return list(case.command) or [sys.executable, case.script]


def plain_command(case: Case) -> list[str]:
    """The same without a recorder: what samerun runs a notebook with, since Jupyter's own prints nothing."""
    words = command(case)
    return build_command(words[-1:]) if words[-1].endswith(".ipynb") else words


def environment(case: Case, *settings: dict[str, str]) -> dict[str, str]:
    """The variables that the case runs under: those of a user who has set none for repeatability."""
    unset = {"PYTHONHASHSEED", "PYTHONPATH", "CUBLAS_WORKSPACE_CONFIG", "MKL_CBWR"}
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in unset and not key.startswith(("SAMERUN", "OMP_", "MKL_"))
    }
    kept["OMP_NUM_THREADS"] = str(case.threads)
    kept["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), kept["PATH"]))  # `python` in a command
    for setting in settings:
        kept.update(setting)
    return kept
