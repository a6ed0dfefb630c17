"""The ways to run a suite, each in a process of its own, and what came out."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from guests.suite import Suite

HERE = Path(__file__).parent.parent
SAMERUN = str(Path(sys.executable).parent / "samerun")
WAYS: dict[str, list[str]] = {
    "plain": [],
    "off": [SAMERUN, "run", "--mode", "off", "--"],
    "ops": [sys.executable, str(HERE / "at_tier_ops.py")],
    "strict": [SAMERUN, "run", "--"],
    "again": [],  # plain once more: what differs here differs by itself
}
LIMIT_S = 3600  # a way that takes longer is ended
ENDED = (124, 137)  # what timeout(1) exits with then
TEST_LIMIT_S = 1800  # a test that takes longer fails: at tier ops some take six times as long as plain
PYTEST = [
    *("-q", "--rootdir=.", "-o", "addopts=", "--durations=15"),
    *("-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "outcomes_of_guests"),
]
_WORST_LAST = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")


@dataclass(frozen=True)
class Ran:
    """One suite, run in one way."""

    way: str
    commit: str
    arguments: list[str]
    exit_code: int
    cpu_s: float  # of the command and all that it started
    wall_s: float
    samerun: str  # the commit that was at work
    versions: dict[str, str]
    when: str
    outcomes: dict[str, str] = field(default_factory=dict)  # test id to passed, failed, …
    why: dict[str, str] = field(default_factory=dict)  # of those that did not pass

    def write(self, file: Path) -> None:
        """Keep it."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(dataclasses.asdict(self), indent=1), encoding="utf-8")


def read(suite: Suite, way: str, results: Path) -> Ran | None:
    """What was kept of this suite run in this way; None where there is none of this selection to its end."""
    file = results / suite.name / f"{way}.json"
    if not file.exists():
        return None
    ran = Ran(**json.loads(file.read_text(encoding="utf-8")))
    of_this = (ran.commit, ran.arguments) == (suite.commit, suite.arguments())
    return ran if of_this and ran.exit_code >= 0 and ran.exit_code not in ENDED else None


def run(suite: Suite, way: str, checkout: Path, results: Path) -> Ran:
    """Run the suite in this way, and keep what came out beside what it printed."""
    results = results / suite.name
    results.mkdir(parents=True, exist_ok=True)
    command = [*WAYS[way], sys.executable, "-m", "pytest", *PYTEST, f"--timeout={TEST_LIMIT_S}"]
    command += suite.arguments()
    with tempfile.TemporaryDirectory(prefix="guest") as temporary:
        lines = Path(temporary) / "outcomes.jsonl"
        lines.touch()
        started = time.monotonic()
        with (results / f"{way}.txt").open("wb") as output:
            exit_code, cpu_s = _wait(command, checkout, _environment(suite, checkout, lines), output)
        outcomes, why = _worst(lines)
        ran = Ran(
            way=way,
            commit=suite.commit,
            arguments=suite.arguments(),
            exit_code=exit_code,
            cpu_s=round(cpu_s, 2),
            wall_s=round(time.monotonic() - started, 2),
            samerun=_samerun(),
            versions=_versions(),
            when=date.today().isoformat(),
            outcomes=outcomes,
            why=why,
        )
    ran.write(results / f"{way}.json")
    return ran


def _environment(suite: Suite, checkout: Path, lines: Path) -> dict[str, str]:
    """One thread, no network, nothing but the checkout and the plugin on the path."""
    path = [str(HERE / "plugin"), *(str((checkout / folder).resolve()) for folder in suite.path)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "GUEST_OUTCOMES": str(lines),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "MPLBACKEND": "agg",
        **suite.environment,
    }


def _wait(command: list[str], cwd: Path, environ: dict[str, str], output: Any) -> tuple[int, float]:
    """Its exit code, and the seconds of CPU that it and what it waited for used."""
    process = subprocess.Popen(
        ["timeout", "--kill-after=30", str(LIMIT_S), *command],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def _worst(lines: Path) -> tuple[dict[str, str], dict[str, str]]:
    """One outcome for each test, the worst of its phases and subtests, and why it did not pass."""
    outcomes: dict[str, str] = {}
    why: dict[str, str] = {}
    for line in lines.read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        test, outcome = said["test"], said["outcome"]
        if test in outcomes and _WORST_LAST.index(outcome) <= _WORST_LAST.index(outcomes[test]):
            continue
        outcomes[test] = outcome
        if said["why"]:
            why[test] = said["why"]
    return outcomes, why


def _samerun() -> str:
    asked = ["git", "-C", str(HERE), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "numpy", "pytest")},
    }
