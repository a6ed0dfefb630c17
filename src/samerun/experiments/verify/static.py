"""`verify --static`: files, packages and variables as they are now, compared with a lock; nothing is run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from samerun.experiments.lock.environment_class import names_place
from samerun.experiments.lock.portable_command import resolve_command
from samerun.experiments.verify.changed import Changed, Kind, list_changed_variables
from samerun.experiments.verify.changed_line import add_lines
from samerun.experiments.verify.inputs_now import digest_now
from samerun.experiments.verify.installed_versions import find_version
from samerun.experiments.verify.result import VerifyResult
from samerun.runs.lock.content import Environment, Lock
from samerun.runs.provenance import select_environment
from samerun.sources.catalogue import find_sources


def verify_static(lock: Lock, path: Path, folder: Path) -> VerifyResult:
    """Whether what a run would find here is what was locked, as far as that shows without one.

    Code that a run would import as well is not seen, nor files outside `folder`, nor the machine.
    """
    code = digest_now(folder, lock.code.files)
    inputs = digest_now(folder, lock.inputs, "file")
    files = (*_list_files("code", lock.code.files, code), *_list_files("input", lock.inputs, inputs))
    installed = _is_our_python(lock)
    id_, (packages, compared) = min(
        ((id_, _compare_packages(item, installed)) for id_, item in sorted(lock.environments.items())),
        key=lambda item: len(item[1][0]),
    )
    variables = _compare_variables(lock, lock.environments[id_])
    unseen = [name for name in (*lock.code.files, *lock.inputs) if name not in code and name not in inputs]
    notes = []
    if unseen:
        notes.append(f"only a run can tell what these hold: {', '.join(unseen[:_MOST])}")
    if not installed:
        notes.append("packages are not compared: the command has another Python than samerun")
    variables += list_changed_variables(lock, texts=False)
    changed = (*add_lines(lock, folder, files), *packages, *variables)
    counts = {"code": len(code), "inputs": len(inputs), "packages": compared}
    compared_nothing = not changed and not any(counts.values())
    return VerifyResult(
        "unknown" if compared_nothing else "stale" if changed else "same",
        str(path),
        command=lock.command,
        folder=str(folder),
        locked_environment=id_,
        reason=_NOTHING if compared_nothing else _STALE if changed else None,
        changed=changed,
        notes=tuple(notes),
        counted=counts,
    )


_MOST = 5  # that are named
_STALE = "what a run would find here is not what was locked"
_NOTHING = "no file and no package of the lock can be compared here without a run"


def _list_files(kind: Kind, locked: Mapping[str, str], now: Mapping[str, str | None]) -> tuple[Changed, ...]:
    return tuple(
        Changed(kind, name, f"{name} {'is gone' if digest is None else 'changed'}")
        for name, digest in now.items()
        if digest != locked[name]
    )


def _is_our_python(lock: Lock) -> bool:
    """Whether the command's program lies beside the Python whose packages can be asked for here."""
    found = shutil.which(resolve_command(lock)[0])
    return found is not None and os.path.dirname(found) == os.path.dirname(sys.executable)


def _compare_packages(locked: Environment, installed: bool) -> tuple[tuple[Changed, ...], int]:
    """(those of other versions, how many were compared): of those that are installed by their own name."""
    if not installed:
        return (), 0
    now = {name: find_version(name, version) for name, version in locked.packages.items()}
    known = {name: version for name, version in now.items() if version is not None}
    changed = (
        Changed("package", name, f"{name}: {locked.packages[name]} → {version}")
        for name, version in known.items()
        if version != locked.packages[name]
    )
    return tuple(changed), len(known)


def _compare_variables(lock: Lock, locked: Environment) -> tuple[Changed, ...]:
    """Those that are set here to another value; of what a control sets, the user's value does not count."""
    control = lock.make_control()
    set_by_us = {
        name
        for source in find_sources().values()
        if source.is_controlled_by(control)
        for name in (*source.variables, *source.environment(control))
    }
    return tuple(
        Changed("variable", name, f"{name}: {locked.variables.get(name, 'not set')} → {value}")
        for name, value in select_environment(os.environ).items()
        if locked.variables.get(name) != value and name not in set_by_us and not names_place(value)
    )
