"""Stands in for launching.run.record: writes real runs of imaginary trainings, in no time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samerun.digest import algorithms, combine, digest_bytes
from samerun.launching.launch import LaunchRequest
from samerun.launching.marker_files import PYTHON_SEEN, TORCH_SEEN
from samerun.launching.progress_files import Progress
from samerun.launching.workspace import Workspace
from samerun.runs.manifest import Manifest
from samerun.runs.plan import Control, Plan
from samerun.runs.record import Record
from samerun.runs.schema import DRAWS, SCHEMA
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter
from samerun.sources.catalogue import find_sources

from .calls import prepare

KERNEL = "nondeterministic-kernels"
# What an edit of the code puts in that makes a source repeat itself.
EDITS = {
    "torch-cpu": "torch.manual_seed",
    "python-random": "\nrandom.seed",
    "clock": "while step < ",
    KERNEL: "torch.use_deterministic_algorithms",
    "thread-scheduling": ".start()\n    thread.join()",
    "worker-arrival": "in_order=True",
}


@dataclass
class Script:
    """A training, and what in it differs from run to run. Runs are numbered from 1 as they are recorded."""

    steps: int = 4
    init: tuple[str, ...] = ()  # RNG sources, unseeded, that feed the parameters at the start
    batches: tuple[str, ...] = ()  # those that feed every batch
    bystanders: tuple[str, ...] = ()  # those that are drawn from and feed nothing
    kernel: int | None = None  # from this step on an operation of the backward pass differs
    flips: frozenset[tuple[int, int, str]] = frozenset()  # (run, step, record): one that differs, once
    crashes: Mapping[int, int] = field(default_factory=dict)  # run: the step at which it raises
    timeouts: frozenset[int] = frozenset()
    interrupted: int | None = None
    evaluates: bool = True
    operations: int = 0  # that a run without any step makes
    imports_torch: bool = True
    prints: Mapping[int, str] = field(default_factory=dict)
    from_step: Mapping[str, int] = field(default_factory=dict)  # sources that feed batches from then on
    sooner: Mapping[int, int] = field(default_factory=dict)  # run: how many steps before that they do in it
    made: bool = False  # an operation of the training itself draws the batches
    reaches: Mapping[str, str] = field(default_factory=dict)  # source: another that its control controls too
    reads: tuple[str, ...] = ()  # what the system gives that it reads at the start, whatever for
    unwritten: bool = False  # it reads memory that nothing has written
    seconds: float = 1.0  # that a whole run takes; one that stops takes 1
    limit: Mapping[int, int] = field(default_factory=dict)  # steps that a run makes
    limited_by: str = "clock"  # what really decides that
    limited_with: str = "time.time"  # what it asks for that
    arrivals: str = ""  # by which of its threads each run's batches came first, a letter for a run
    tells_its_code: bool = False  # runs hold which files they were made with
    unordered: int | None = None  # from this step on its workers' batches come as they are ready
    stamps: bool = False  # it makes a tensor of what differs in each run, which reaches nothing
    caches: bool = False  # it keeps a file, and draws one more number from numpy where there is none
    streams: int | None = None  # from this step on two streams race, unless its operations are recorded
    calls: list[dict[str, Any]] = field(default_factory=list)

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        """As launching.run.record."""
        with prepare(request, plan, at) as how:
            self.calls.append(how)
            return _Play(self, len(self.calls), at.store.create(), how).run()


class _Play:
    """One run of a script."""

    def __init__(self, script: Script, number: int, path: Path, how: dict[str, Any]) -> None:
        self.script = script
        self.number = number
        self.path = path
        self.how = how
        self.control: Control | None = how["control"]
        self.writer: TraceWriter | None = None
        self.weights = b"start"
        self.done = 0

    def run(self) -> Run:
        (self.path / PYTHON_SEEN).touch()
        if self.script.imports_torch:
            (self.path / TORCH_SEEN).touch()
        outcome = self._train()
        code = {"finished": 0, "failed": 1}.get(outcome, -15)
        if outcome == "failed":
            (self.path / "output.txt").write_text("starting\nTraceback\nValueError: no data\n")
        else:
            (self.path / "output.txt").write_text(self.script.prints.get(self.number, "done\n"))
        if self.writer is not None:
            self.writer.close()
        how = self.how
        Manifest(
            id=self.path.name,
            command=tuple(how["command"]),
            cwd=str(how["cwd"]),
            started="2026-11-01T12:00:00.000+00:00",
            tier=how["tier"],
            outcome=outcome,  # type: ignore[arg-type]
            duration_s=self.script.seconds if outcome == "finished" else 1.0,
            exit_code=code,
            steps=self.done,
            mode=None if self.control is None else self.control.mode,
            plan={key: how[key] for key in ("tier", "window", "stop_after")},
            settings=self._settings(),
        ).write(self.path)
        if how["on_progress"] is not None:
            how["on_progress"](Progress(self.done or None, 0.5, 1.0))
        return Run(self.path)

    def _settings(self) -> dict[str, Any]:
        found: dict[str, Any] = {"code": {"train.py": ""}} if self.script.tells_its_code else {}
        if "hash-seed" in self.script.from_step:
            found["hash-seed"] = {"PYTHONHASHSEED": None}
        return found if self.script.unordered is None else {**found, "worker-arrival": {"in_order": False}}

    def _train(self) -> str:
        script = self.script
        if script.steps == 0:
            return self._stepless()
        self.weights = self._value("setup", 0, script.init)
        found = self._cache() if script.caches else b""
        self._rng(0, (*script.init, *script.batches, *script.bystanders))
        self._operation(-1, "setup", "aten.normal_", b"", self.weights, flags=DRAWS)
        if script.stamps:
            stamp = b"run %d" % self.number
            self._operation(-1, "setup", "aten.lift_fresh", stamp, stamp)
        self._row(0, "setup", "parameters", "SGD", self.weights)
        if script.arrivals:
            self._row(0, "setup", "threads", "start", b"", call_site="train.py:4", value=3.0)
        if script.streams is not None:
            self._row(0, "setup", "stream", "torch.cuda.stream", None, call_site="train.py:4")
        for source in script.reads:
            self._row(
                0, "setup", find_sources()[source].evidence, f"{source}()", None, call_site="train.py:3"
            )
        if script.unwritten:
            self._row(0, "setup", "unwritten", "numpy.empty", b"", call_site="train.py:3")
        for step in range(self._limit()):
            if script.limit:
                self._row(step, "setup", "clock", script.limited_with, b"", call_site="train.py:3")
            if script.crashes.get(self.number) == step:
                self._row(step, "end", "end", "raised ValueError", str(step).encode())
                return "failed"
            if self.number in script.timeouts and step == 2:
                return "timeout"
            if script.interrupted == self.number and step == 2:
                return "interrupted"
            if self.how["stop_after"] is not None and step > self.how["stop_after"]:
                self._row(step, "forward", "stopped", None, b"")
                return "stopped"
            self._step(step, found)
        if script.evaluates:
            self._row(self.done - 1, "evaluation", "output", "Net", self.weights)
        self._row(self.done, "end", "end", "finished", str(self.done).encode())
        return "finished"

    def _limit(self) -> int:
        if not self.script.limit:
            return self.script.steps
        controlled = self._entropy(self.script.limited_by) == b"controlled"
        return self.script.steps if controlled else self.script.limit.get(self.number, self.script.steps)

    def _cache(self) -> bytes:
        folder: Path = self.how["copy"] or self.how["cwd"]
        file = folder / "cache.npy"
        columns = {"call_site": "train.py:5", "detail": str(file.name)}
        if file.exists():
            self._row(0, "setup", "opened", "open", b"cache", **columns)
            return b"found"
        file.touch()
        self._row(0, "setup", "written", "open", b"", **columns)
        self._row(0, "setup", "draw", "numpy-global", b"extra", call_site="train.py:6")
        return b"made"

    def _step(self, step: int, found: bytes) -> None:
        script = self.script
        sooner = script.sooner.get(self.number, 0)
        later = tuple(source for source, first in script.from_step.items() if step >= first - sooner)
        for source in script.from_step if script.sooner else ():  # whatever comes of it
            self._row(step, "data", "draw", source, self._entropy(source), call_site="train.py:6")
        batch = self._value("batch", step, (*script.batches, *later)) + found
        if script.arrivals and self._entropy("thread-scheduling") != b"controlled":
            batch += script.arrivals[self.number - 1 : self.number].encode()
        if script.unordered is not None:
            came = self._entropy("worker-arrival") if step >= script.unordered else b"in order"
            batch += came
            detail = json.dumps({"workers": 2, "samples": 2, "batch": step})
            self._row(step, "data", "indices", "loader", came, inputs=step, detail=detail)
        if script.made:  # the forward pass has begun for all that is known
            self._operation(step, "forward", "aten.randn", b"size", batch)
        self._row(step, "data", "batch", None, batch)
        out = _digest(self.weights, batch)
        self._operation(step, "forward", "aten.mm", self.weights + batch, out)
        self._row(step, "forward", "loss", "loss", out, value=1.0 + out[0] / 1024)
        gradients = out
        if script.kernel is not None and step >= script.kernel:
            gradients = _digest(out, self._entropy(KERNEL))
        self._operation(step, "backward", "aten.index_put_", out, gradients)
        if script.streams is not None and step >= script.streams and not self._is_in_window(step):
            gradients = _digest(gradients, self._entropy("stream-race"))
        self._row(step, "optimizer", "gradients", "SGD", gradients)
        self.weights = _digest(self.weights, gradients)
        self._row(step, "optimizer", "parameters", "SGD", self.weights)
        self.done = step + 1
        self._rng(step + 1, (*script.batches, *later, *script.bystanders))

    def _stepless(self) -> str:
        if self.how["tier"] == "ops":
            for n in range(self.script.operations):
                self._operation(0, "forward", "aten.mm", b"x", self._value("mm", n, self.script.batches))
            if self.script.operations:
                self._row(0, "end", "end", "finished", b"0")
        return "finished"

    def _value(self, what: str, step: int, sources: tuple[str, ...]) -> bytes:
        return _digest(what, str(step), *(self._entropy(source) for source in sources))

    def _entropy(self, source: str) -> bytes:
        """What a source brings into this run: another thing each time, unless it is controlled."""
        control = self.control
        reached = {source, *(by for by, other in self.script.reaches.items() if other == source)}
        controlled = control is not None and (control.only is None or bool(reached & set(control.only)))
        copy: Path | None = self.how["copy"]
        if copy is not None and source in EDITS:
            controlled = controlled or EDITS[source] in (copy / "train.py").read_text()
        return b"controlled" if controlled else b"run %d" % self.number

    def _rng(self, step: int, sources: tuple[str, ...]) -> None:
        for source in dict.fromkeys(source for source in sources if find_sources()[source].kind == "rng"):
            state = _digest(source, self._entropy(source), str(step))
            self._row(step, "data", "rng", source, state)

    def _operation(
        self, step: int, phase: str, name: str, inputs: bytes, output: bytes, flags: int = 0
    ) -> None:
        if self._is_in_window(step):
            self._row(
                max(step, 0),
                phase,
                "operation",
                name,
                output,
                inputs=int.from_bytes(_digest(inputs)[:8], "little"),
                call_site="train.py:7",
                flags=flags,
            )

    def _is_in_window(self, step: int) -> bool:
        window = self.how["window"] or (-1, 10**9)
        return self.how["tier"] == "ops" and window[0] <= step <= window[1]

    def _row(
        self, step: int, phase: str, what: str, name: str | None, content: bytes | None, **more: Any
    ) -> None:
        if self.writer is None:
            meta = {
                "schema": SCHEMA,
                "digests": algorithms(),
                "tier": self.how["tier"],
                "stem": "rank0",
                "rank": 0,
                "role": "",
                "pair": "0||script|0",
                "world_size": 1,
            }
            self.writer = TraceWriter(self.path / "rank0.trace.arrow", meta)
        flip = (self.number, step, what) in self.script.flips
        digest = None if content is None else _digest(content, b"flipped" if flip else b"")
        self.writer.append(Record(step, phase, what, name, digest=digest, **more))


def _digest(*parts: str | bytes) -> bytes:
    return combine([digest_bytes(part.encode() if isinstance(part, str) else part) for part in parts])
