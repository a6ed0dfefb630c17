"""One run of a study: what it is, how it is carried out anywhere, and what became of it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from samerun.digest import digest_bytes
from samerun.errors import SamerunError
from samerun.experiments import run_outcome
from samerun.experiments.runner import Runner
from samerun.experiments.study import metric
from samerun.experiments.varied_runs import leave_alone
from samerun.launching.copies.working_copy import make_scratch_copy
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs import untrusted
from samerun.runs.plan import Control, Plan
from samerun.runs.schema import COMPARED, only_helps
from samerun.runs.store import Run, Store

_MOST_OUTPUT = 256 << 20  # bytes at its end, where the last match of the metric is


@dataclass(frozen=True)
class Task:
    """One run: plain values, so that it can be sent anywhere."""

    command: tuple[str, ...]
    folder: str
    store: str
    metric: str
    seeds: Mapping[str, int]  # source id to the seed of its stream
    mode: str = "strict"
    steps: int | None = None
    timeout: float | None = None
    scratch: bool = False
    threads: int | None = None
    code: str = ""  # stands for the files that are run
    repeat: int = 0  # runs that are alike in all else, when what is free in them is studied

    @property
    def key(self) -> str:
        """Stands for all that can matter to the result, but where it is kept and how long it may take."""
        value = {name: item for name, item in asdict(self).items() if name not in ("store", "timeout")}
        return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Task:
        """The task that `to_json` wrote."""
        value = json.loads(text)
        return cls(**{**value, "command": tuple(value["command"])})


@dataclass(frozen=True)
class TaskResult:
    """What became of a task: its metric, or why there is none."""

    key: str
    value: float | None
    run: str = ""
    fingerprint: str = ""  # over every record that is compared: equal for runs that are the same bit for bit
    seconds: float = 0.0
    steps: int = 0
    reason: str | None = None

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> TaskResult:
        """The value that `to_json` wrote. Raises ValueError or TypeError for anything else."""
        return cls(**json.loads(text))


def carry_out(task: Task) -> TaskResult:
    """Run the command with these seeds and read its metric. Never raises for what the command does."""
    folder = Path(task.folder)
    control = leave_alone(Control(task.mode, 0), list(task.seeds))  # type: ignore[arg-type]
    alone = make_scratch_copy(folder, task.command) if task.scratch else contextlib.nullcontext(None)
    with alone as copy:
        environment = {} if task.threads is None else {"OMP_NUM_THREADS": str(task.threads)}
        last = None if task.steps is None else task.steps - 1
        before = metric.read_state(task.metric, copy or folder)
        run = Runner().run(
            LaunchRequest(task.command, environment, task.timeout),
            Plan(stop_after=last, control=control, vary=task.seeds),
            at=Workspace(folder, Store(Path(task.store)), copy),
            stage="",
        )
        return _describe_done(task, run, copy or folder, before)


def _describe_done(task: Task, run: Run, folder: Path, before: metric.State) -> TaskResult:
    if failure := run_outcome.explain_failure([run], parted=False):
        last = run_outcome.read_last_lines([run])
        return TaskResult(task.key, None, run.id, reason=f"{failure}{f': {last[-1]}' if last else ''}")
    printed = untrusted.read_end(run.path / "output.txt", _MOST_OUTPUT).decode("utf-8", "replace")
    try:
        value = metric.read(task.metric, printed, folder, before)
        return TaskResult(task.key, value, run.id, digest_run(run), run.duration_s, run.steps)
    except SamerunError as error:
        return TaskResult(task.key, None, run.id, reason=str(error))


def digest_run(run: Run) -> str:
    """32 hex digits over all that `check` compares, "" for a run without records."""
    words = []
    for stem, trace in sorted(run.traces().items()):
        if only_helps(stem):
            continue
        kept = trace.is_one_of("what", set(COMPARED))
        digests, there = trace.digests
        words += [trace.steps[kept].tobytes(), digests[kept].tobytes(), there[kept].tobytes()]
    return digest_bytes(b"".join(words)).hex() if words else ""


def main() -> None:
    """Carry out the task on standard input; one line of what became of it goes to standard output."""
    task = Task.from_json(sys.stdin.read())
    try:
        done = carry_out(task)
    except SamerunError as error:
        done = TaskResult(task.key, None, reason=str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    print(done.to_json(), flush=True)


if __name__ == "__main__":
    main()
