"""Plain runs of a case, without samerun: what they print, and what the witness saw."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scoring.case import Case
from scoring.copying import environment, plain_command

WITNESS = Path(__file__).parent.parent / "witness"
LIMIT = 120  # seconds a run
LOSS = re.compile(r"loss\w*\W{0,3}(?:=|:|is)?\s*(-?\d[\d.]*(?:e[+-]?\d+)?|nan|inf)", re.IGNORECASE)


@dataclass(frozen=True)
class Plain:
    """One run: `seen` maps a process to its records [step, what, digest]."""

    printed: str
    seconds: float
    seen: dict[str, list[list[object]]]

    @property
    def losses(self) -> list[str]:
        """Every number printed after the word loss."""
        return LOSS.findall(self.printed)


def run(case: Case, folder: Path, extra: dict[str, str] | None = None, witness: bool = True) -> Plain:
    """Run a copied case once; RuntimeError with its output when it fails."""
    settings = dict(extra or {})
    with tempfile.TemporaryDirectory() as records:
        if witness:
            settings |= {"PYTHONPATH": str(WITNESS), "FAULTS_WITNESS": records}
        began = time.perf_counter()
        done = subprocess.run(
            plain_command(case),
            cwd=folder,
            env=environment(case, settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
        )
        seconds = time.perf_counter() - began
        if done.returncode:
            raise RuntimeError(f"{case.name} ended with {done.returncode}:\n{done.stdout[-2000:]}")
        seen = {path.stem: json.loads(path.read_text()) for path in sorted(Path(records).glob("*.json"))}
    return Plain(done.stdout, seconds, seen)


def differ(a: Plain, b: Plain, aside: Sequence[str] = ()) -> bool:
    """The witness saw other bytes, in anything but what is put aside."""
    return _kept(a, aside) != _kept(b, aside)


def _kept(plain: Plain, aside: Sequence[str]) -> dict[str, list[list[object]]]:
    return {process: [row for row in rows if row[1] not in aside] for process, rows in plain.seen.items()}


def first_step(a: Plain, b: Plain) -> int | None:
    """The first optimizer step whose records differ, in whichever process."""
    steps = []
    for process in a.seen.keys() | b.seen.keys():
        mine, theirs = a.seen.get(process, []), b.seen.get(process, [])
        for one, other in zip(mine, theirs, strict=False):
            if one != other:
                steps.append(min(int(one[0]), int(other[0])))
                break
        else:
            if len(mine) != len(theirs):
                longer = max(mine, theirs, key=len)
                steps.append(int(longer[min(len(mine), len(theirs))][0]))
    return min(steps, default=None)


def differing(a: Plain, b: Plain) -> set[str]:
    """What differs: `loss` (as printed), `weights`, `input`, `output`, `end`, `buffers`."""
    found = {"loss"} if a.losses != b.losses else set()
    for process in a.seen.keys() | b.seen.keys():
        mine, theirs = a.seen.get(process, []), b.seen.get(process, [])
        for what in {str(row[1]) for row in mine + theirs}:
            if [row[2] for row in mine if row[1] == what] != [row[2] for row in theirs if row[1] == what]:
                found.add(what)
    return found
