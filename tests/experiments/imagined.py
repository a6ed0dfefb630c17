"""Stands in for launching.run.record: trainings of which we say what their result depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samerun.digest import algorithms, combine, digest_bytes
from samerun.launching.launch import LaunchRequest
from samerun.launching.marker_files import TORCH_SEEN, name_marker
from samerun.launching.workspace import Workspace
from samerun.runs.manifest import Manifest
from samerun.runs.plan import Control, Plan
from samerun.runs.record import Record
from samerun.runs.schema import SCHEMA
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter

from .calls import prepare

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "threads": {"intra": 2},
    "hardware": {"cpus": 2},
    "worker-count": {"workers": [2]},
    "matmul-precision": {"precision": "highest"},
    "locale": {"LANG": "C.UTF-8"},
}
_VARIABLES = {"PYTHONHASHSEED": "hash-seed", "TZ": "clock", "LC_ALL": "locale", "HOSTNAME": "hostname"}


@dataclass
class Imagined:
    """A training of a few steps whose records from `step` on follow the sources in `on`."""

    on: frozenset[str] = frozenset()
    together: frozenset[str] = frozenset()  # sources that matter only when all of them are changed
    weights_only: frozenset[str] = frozenset()  # sources that change what is called, and not the weights
    unused: frozenset[str] = frozenset()  # sources that nothing in it uses
    fails: frozenset[str] = frozenset()  # sources with which it ends with exit code 1
    chance: frozenset[int] = frozenset()  # the numbers of runs that differ for no reason
    stubborn: frozenset[str] = frozenset()  # sources that the script sets itself, whatever it is told
    repeats_alone: bool = True  # without any control
    repeats: bool = True
    repeats_with: Mapping[str, bool] = field(default_factory=dict)  # source: whether its runs agree
    step: int = 1
    steps: int = 3
    calls: list[dict[str, Any]] = field(default_factory=list)

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        """As launching.run.record."""
        with prepare(request, plan, at) as how:
            self.calls.append(how)
            return self._play(how)

    def _play(self, how: dict[str, Any]) -> Run:
        path = how["store"].create()
        (path / TORCH_SEEN).touch()
        varied = self._varied(how)
        for source in how["vary"]:
            if source not in self.unused:
                (path / name_marker(source)).touch()
        failed = bool(varied & self.fails)
        settings = {id_: dict(said) for id_, said in SETTINGS.items()}
        if "threads" in varied and "threads" not in self.stubborn:
            settings["threads"]["intra"] = how["vary"]["threads"]
        if "matmul-precision" in varied:
            settings["matmul-precision"]["precision"] = how["vary"]["matmul-precision"]
        self._trace(path, how, varied, failed)
        (path / "output.txt").write_text("ValueError: no such locale\n" if failed else "done\n")
        Manifest(
            id=path.name,
            command=tuple(how["command"]),
            cwd=str(how["cwd"]),
            started="2026-11-01T12:00:00.000+00:00",
            tier=how["tier"],
            outcome="failed" if failed else "finished",
            duration_s=1.0,
            exit_code=1 if failed else 0,
            steps=0 if failed else self.steps,
            plan={key: how[key] for key in ("tier", "window", "stop_after")},
            settings=settings,
        ).write(path)
        return Run(path)

    def _varied(self, how: Mapping[str, Any]) -> frozenset[str]:
        found = set(how["vary"]) - set(self.unused)
        found |= {source for name, source in _VARIABLES.items() if name in how["env"]}
        found |= (
            {"cpu-isa"}
            if {"ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA"} & set(how["env"])
            else set()
        )
        return frozenset(found | ({"working-directory"} if how["scratch"] else set()))

    def _result(self, how: Mapping[str, Any], varied: frozenset[str]) -> bytes:
        control: Control | None = how["control"]
        number = len(self.calls)
        parts = [*sorted(varied & self.on)]
        parts += ["together"] if self.together and self.together <= varied else []
        loose = number in self.chance or not self.repeats or (control is None and not self.repeats_alone)
        loose |= any(not self.repeats_with.get(source, True) for source in varied)
        return combine([digest_bytes(part.encode()) for part in (*parts, f"run {number}" if loose else "")])

    def _trace(self, path: Path, how: Mapping[str, Any], varied: frozenset[str], failed: bool) -> None:
        meta = {
            "schema": SCHEMA,
            "digests": algorithms(),
            "tier": how["tier"],
            "stem": "rank0",
            "rank": 0,
            "role": "",
            "pair": "0||script|0",
            "world_size": 1,
        }
        writer = TraceWriter(path / "rank0.trace.arrow", meta)
        same, other = digest_bytes(b"weights"), self._result(how, varied)
        extra = varied & self.weights_only
        last = self.steps - 1 if how["stop_after"] is None else min(how["stop_after"], self.steps - 1)
        for step in range(0 if failed else last + 1):
            state = combine([same, other, digest_bytes(str(step).encode())]) if step >= self.step else same
            for _ in range(2 if extra else 1):
                writer.append(Record(step, "data", "input", "Net", digest=digest_bytes(b"batch")))
            value = 1.0 + state[0] / 256
            writer.append(Record(step, "forward", "loss", "loss", digest=state, value=value))
            writer.append(Record(step, "optimizer", "parameters", "SGD", digest=state, parts=state))
        end = "raised ValueError" if failed else "finished"
        writer.append(Record(self.steps, "end", "end", end, digest=digest_bytes(str(self.steps).encode())))
        writer.close()
