"""Patches mend: each script differs from run to run as it is, and never with its patch applied."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sources.mending import Program, changed, differing, equal

from samerun.experiments.check.check import check
from samerun.experiments.request import Request
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch, patch
from samerun.runs.difference import Row
from samerun.runs.store import Store

from .faulty import DIGEST, FAULTS, Faulty

_RUNS = 4  # at most, until two differ


def noted(program: Program, faulty: Faulty, item: tuple[str, str, str]) -> Row | tuple[Row, Row]:
    what, name, words = item
    columns = {} if what == "seed" else dict(faulty.columns)
    if what.endswith("listing"):
        columns |= dict(inputs=1, detail="folder")
    site = program.at(words, faulty.path)
    return (
        differing(what[1:], name, site, **columns)
        if what.startswith("≠")
        else equal(what, name, site, **columns)
    )


def made_for(faulty: Faulty, folder: Path) -> Patch:
    program = Program(folder, "", {**faulty.files, "weights.py": DIGEST}, faulty.argv, steps=7)
    difference = program.difference(*(noted(program, faulty, item) for item in faulty.rows))
    site = program.at(faulty.words, faulty.path) if faulty.words else None
    made = patch([(difference, Cause(source, True, "", "", site)) for source in faulty.sources], folder)
    assert made is not None
    return made


def ran(faulty: Faulty, folder: Path) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": str(faulty.threads), "PYTHONPATH": str(folder)}
    environment.pop("PYTHONHASHSEED", None)
    done = subprocess.run(
        [sys.executable, *faulty.argv[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow  # cli/test_diagnose.py applies a patch in everyday, sources/test_mend_*.py look at each
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FAULTS)
def test_differs_without_the_patch_and_never_with_it(tmp_path: Path, name: str) -> None:
    faulty = FAULTS[name]
    made = made_for(faulty, tmp_path)
    assert made.cannot == {}
    assert sum(line[0] == "+" for line in changed(made.diff).splitlines()) <= faulty.lines, made.diff
    seen = {ran(faulty, tmp_path)}
    for _ in range(_RUNS):
        if len(seen) == 1:
            seen.add(ran(faulty, tmp_path))
    assert len(seen) > 1, "the script has no fault that shows"
    (tmp_path / "it.diff").write_text(made.diff)
    subprocess.run(["patch", "-p1", "-s", "-i", "it.diff"], cwd=tmp_path, check=True, timeout=20)
    assert len({ran(faulty, tmp_path) for _ in range(3)}) == 1, made.diff


CHECKED = [
    "a plain loop",
    "a trainer seeded by the clock",
    "a language model's vocabulary",
    "a generator in a replay buffer",
    "a seed from the system's entropy",
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", CHECKED)
def test_check_finds_the_cause_and_says_same_of_the_patched_script(tmp_path: Path, name: str) -> None:
    """With the evidence of real runs; each cause in its turn, as `check` names one at a time."""
    faulty = FAULTS[name]
    for path, text in {**faulty.files, "weights.py": DIGEST}.items():
        (tmp_path / path).write_text(text)
    request = Request((sys.executable, *faulty.argv[1:]), tmp_path, Store(tmp_path / ".samerun"))
    found = []
    for _ in range(len(faulty.sources) + 1):
        result = check(request)
        if result.verdict != "differs":
            break
        assert result.difference is not None
        causes = [cause for cause in result.causes if cause.confirmed]
        assert causes, result.causes
        made = patch([(result.difference, cause) for cause in causes], tmp_path)
        assert made is not None and made.diff, made
        made.apply(tmp_path)
        found += [cause.source for cause in causes]
    assert result.verdict == "same", (result.reason, found)
    assert set(found) == set(faulty.sources)
