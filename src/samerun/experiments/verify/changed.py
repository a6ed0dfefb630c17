"""What is not as it was when a lock was made: code, inputs, packages, settings, variables, the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from samerun.experiments.lock.environment_class import EnvironmentClass
from samerun.experiments.lock.named_files import MOST_CODE, MOST_INPUTS, limit_files
from samerun.experiments.lock.observed import Observed
from samerun.experiments.lock.own_variables import is_text, read_variables
from samerun.runs.lock.content import Environment, Lock

Kind = Literal["code", "input", "package", "setting", "variable", "machine"]


@dataclass(frozen=True)
class Changed:
    """One of them, in words: what it was, and what it is."""

    kind: Kind
    name: str  # a path, a package, a variable
    text: str
    call_site: str | None = None  # the first line of code that is another one
    confirmed: bool = False  # with it as locked, and all else as it is, a run gives the locked bits
    ruled_out: bool = False  # with it as locked, a run has the same bits as without
    places: int = 0  # of a file, that are confirmed; all that `text` and `call_site` are about


def list_changed(lock: Lock, locked: Environment, observed: Observed) -> tuple[Changed, ...]:
    """What of a run is not as locked, in the order in which it explains a difference."""
    return (
        *list_changed_code(lock, observed.code.files),
        *_list_files("input", lock.inputs, limit_files(observed.inputs, MOST_INPUTS)),
        *_list_revisions(lock.revisions, observed.revisions),
        *list_changed_class(locked, observed.environment),
        *list_changed_variables(lock),
    )


def list_changed_code(lock: Lock, files: Mapping[str, str]) -> tuple[Changed, ...]:
    """The user's files that are others, gone or new."""
    return _list_files("code", lock.code.files, limit_files(files, MOST_CODE))


def list_changed_variables(lock: Lock, *, texts: bool = True) -> tuple[Changed, ...]:
    """Those that the locked code names; without `texts` (the name of a run, say), numbers alone."""
    before, now = lock.code.variables, read_variables(lock.code.variables)
    names = [name for name in now if texts or not (is_text(before[name]) or is_text(now[name]))]
    return _list_values(
        "variable", {name: before[name] for name in names}, {name: now[name] for name in names}
    )


def list_changed_class(locked: Environment, now: EnvironmentClass) -> tuple[Changed, ...]:
    """Packages, variables, settings and the machine; what only one of the two says is no package."""
    shared = {name: version for name, version in now.packages.items() if name in locked.packages}
    before = {name: version for name, version in locked.packages.items() if name in shared}
    return (
        *_list_values("package", before, shared),
        *_list_values("variable", locked.variables, now.variables),
        *_list_values("setting", locked.settings, now.settings),
        *_list_values("machine", locked.machine, now.machine),
    )


def _list_files(kind: Kind, before: Mapping[str, str], now: Mapping[str, str]) -> tuple[Changed, ...]:
    found = []
    for name in sorted({*before, *now}):
        if name not in now:
            found.append(Changed(kind, name, f"{name} is no longer used"))
        elif name not in before:
            found.append(Changed(kind, name, f"{name} is new"))
        elif before[name] != now[name]:
            found.append(Changed(kind, name, f"{name} changed"))
    return tuple(sorted(found, key=lambda item: not item.text.endswith("changed")))


def _list_revisions(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[Changed, ...]:
    """Of those that both read: which files of a hub are opened depends on what a cache has."""
    return _list_values("input", before, {name: now.get(name, held) for name, held in before.items()})


def _list_values(kind: Kind, before: Mapping[str, str], now: Mapping[str, str]) -> tuple[Changed, ...]:
    return tuple(
        Changed(kind, name, f"{name}: {before.get(name, 'not set')} → {now.get(name, 'not set')}")
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    )
