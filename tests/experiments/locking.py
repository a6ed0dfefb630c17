"""Locks imaginary trainings on imaginary machines, and verifies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from samerun.digest import digest_bytes
from samerun.experiments.lock.lock import LockRequest, lock
from samerun.experiments.lock.result import LockResult
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.experiments.verify.request import VerifyRequest
from samerun.experiments.verify.result import VerifyResult
from samerun.experiments.verify.verify import verify
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.lock.content import Lock
from samerun.runs.lock.file import FILE, read_lock, write_lock
from samerun.runs.plan import Control, Plan
from samerun.runs.store import Run, Store

from .scripts import Script

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "hardware": {"processor": "Imagined 1", "cpus": 2, "capability": "AVX2"},
    "cpu-isa": {"aten": "AVX2", "onednn": True},
    "threads": {"intra": 2, "inter": 2},
    "packages": {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6"},
    "environment": {"LANG": "C.UTF-8", "TORCH_HOME": "/home/ada/torch"},
}


@dataclass
class Machine:
    """Records a script as on a machine of these settings, with the code that lies in its folder."""

    script: Script
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        """As launching.run.record."""
        run = self.script.record(request, plan, at)
        code = {path.name: digest_bytes(path.read_bytes()).hex() for path in sorted(at.folder.glob("*.py"))}
        settings = {**SETTINGS, "code": code, **self.settings}
        replace(run.manifest, settings={**run.manifest.settings, **settings}).write(run.path)
        return Run(run.path)


def made_request(folder: Path, **asked: Any) -> Request:
    control = asked.pop("control", Control())
    return Request(("python", "train.py"), folder, Store(folder / ".samerun"), control=control, **asked)


def locked(machine: Machine, folder: Path, *, update: bool = False, **asked: Any) -> LockResult:
    """Lock, and write what was made."""
    path = folder / FILE
    before = read_lock(path) if update else None
    asked_for = LockRequest(made_request(folder, **asked), path, before)
    result = lock(asked_for, Runner(record=machine.record))
    if result.lock is not None:
        write_lock(result.lock, path)
    return result


def verified(
    machine: Machine, folder: Path, *, steps: int | None = None, confirm: bool = True, **asked: Any
) -> VerifyResult:
    """Verify with the lock that is there."""
    lock = read_lock(folder / FILE)
    request = made_request(folder, steps=steps or lock.limit, control=lock.make_control(), confirm=confirm)
    request = replace(request, command=asked.get("command", request.command))
    return verify(VerifyRequest(request, lock, folder / FILE, **asked), Runner(record=machine.record))


def lock_of(folder: Path) -> Lock:
    return read_lock(folder / FILE)
