"""What samerun says of a case, as plain values."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.case import Case
from scoring.copying import command, environment

LIMIT = 900  # seconds a diagnosis


@dataclass(frozen=True)
class Said:
    """One thing that the answer holds for a reason, and where it puts it."""

    source: str
    confirmed: bool
    cause: bool  # named as a cause, not as a suspect or an alternative
    line: tuple[str, int] | None
    step: int | None
    phase: str | None
    operation: str | None


@dataclass(frozen=True)
class Answer:
    """`said` is ranked: the causes in the order given, then the alternatives, then the suspects."""

    verdict: str
    seconds: float
    said: tuple[Said, ...] = ()
    patch: str | None = None  # the diff offered
    patch_verified: bool | None = None  # as samerun says itself
    complaint: str | None = None  # what it printed when it gave no result

    @property
    def causes(self) -> list[Said]:
        """What it names as causes."""
        return [said for said in self.said if said.cause]


def ask_for_causes(verb: str, case: Case, folder: Path) -> Answer:
    """`samerun diagnose`, or `samerun check`, of the copy in a folder."""
    values, seconds, printed = ask(verb, case, folder)
    if values is None:
        return Answer("nothing", seconds, complaint=printed)
    patch = values.get("patch") or {}
    return Answer(
        values["verdict"],
        seconds,
        tuple(ranked(values)),
        patch.get("diff") or None,
        patch.get("verified"),
        values.get("reason"),
    )


def check(case: Case, folder: Path, runs: int) -> str:
    """The verdict of `samerun check -n runs` of the copy in a folder."""
    values, _, printed = ask("check", case, folder, "-n", str(runs), "--no-confirm")
    return printed[-300:] if values is None else str(values["verdict"])


def ask(verb: str, case: Case, folder: Path, *options: str) -> tuple[dict[str, Any] | None, float, str]:
    """The values of `--json` (None: there are none), the seconds taken, and what was printed."""
    out = folder.with_suffix(".json")
    out.unlink(missing_ok=True)
    line = [sys.executable, "-m", "samerun", verb, *options, "--json", str(out), "--", *command(case)]
    began = time.perf_counter()
    try:
        done = subprocess.run(
            line,
            cwd=folder,
            env=environment(case),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None, time.perf_counter() - began, f"no answer in {LIMIT} s"
    seconds = time.perf_counter() - began
    if not out.exists():
        return None, seconds, done.stdout[-2000:]
    return json.loads(out.read_text()), seconds, done.stdout


def ranked(values: dict[str, Any]) -> list[Said]:
    """Everything that an answer names, the most certain first."""
    found = values.get("found") or []
    if not found and values.get("first_difference"):
        found = [{"difference": values["first_difference"], "causes": values.get("causes", [])}]
    said = [
        _said(item["difference"], cause, named)
        for key, named in (("causes", True), ("instead", False))
        for item in found
        for cause in item.get(key, [])
    ]
    first = found[0]["difference"] if found else {}
    said += [_said(first, cause, False) for cause in values.get("suspects", [])]
    return said


def _said(place: dict[str, Any], cause: dict[str, Any], named: bool) -> Said:
    site = cause.get("call_site") or place.get("call_site")
    return Said(
        cause["source"],
        bool(cause.get("confirmed")),
        named,
        line_of(site),
        place.get("step"),
        place.get("phase"),
        base(place.get("op")),
    )


def line_of(site: str | None) -> tuple[str, int] | None:
    """`folder/file.py:12` → ("file.py", 12)."""
    path, _, number = (site or "").rpartition(":")
    return (Path(path).name, int(number)) if path and number.isdigit() else None


def base(operation: str | None) -> str | None:
    """`aten::index_put_.default` and `aten.index_put_.default` → `index_put_`."""
    if operation is None:
        return None
    name = operation.replace("::", ".")
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]
