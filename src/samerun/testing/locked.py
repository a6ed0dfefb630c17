"""A function still gives the bits that are kept in a file."""

from __future__ import annotations

import os
import platform
import unittest
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from samerun.controls import control
from samerun.errors import UsageError
from samerun.ranks.named_digests import Entry, list_entries
from samerun.runs.plan import Mode
from samerun.sources.cpu_isa import CpuIsa
from samerun.sources.hardware import Hardware
from samerun.sources.threads import Threads
from samerun.testing.function_lock import (
    FunctionLock,
    LockedValues,
    digest_entries,
    identify,
    read_function_lock,
    write_function_lock,
)
from samerun.testing.same_run import assert_same_run

_MOST = 8  # names in a message


def assert_locked(
    fn: Callable[[], Any],
    path: str | os.PathLike[str],
    *,
    seed: int = 0,
    mode: Mode = "strict",
    update: bool = False,
) -> tuple[str, ...]:
    """Call `fn` under control, and compare what it returns with the lock at `path` bit for bit.

    It returns what `assert_same_run` takes. Raises AssertionError naming what moved, and where there is no
    lock; UsageError where that lock is of another seed or mode; unittest.SkipTest, which pytest knows too, on
    a class of machine that was never locked and whose bits are not those of another one. With `update` the
    lock is written, once two calls gave the same; the names of what moved are returned, () where nothing did.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    place = Path(path)
    now = _observe(fn, seed, mode)
    kept = read_function_lock(place)
    if update:
        return _update(fn, place, kept, now, seed, mode)
    if kept is None:
        raise AssertionError(f"There is no lock {place}. Write it: update=True, or pytest --samerun-update")
    if (kept.seed, kept.mode) != (seed, mode):
        raise UsageError(
            f"The lock {place} is of seed {kept.seed} and mode {kept.mode}, and seed {seed} and mode {mode} "
            "were asked for. Ask for the same, or write it again: update=True, or pytest --samerun-update"
        )
    if any(item.values == now.values for item in kept.environments.values()):
        return ()
    locked = kept.environments.get(identify(now.machine))
    if locked is None:
        raise unittest.SkipTest(
            f"unknown: this class of machine ({', '.join(now.machine.values())}) is not in {place}, and its "
            "bits are not those of another. Add it: update=True, or pytest --samerun-update"
        )
    raise AssertionError(_describe(place, locked, now))


def _observe(fn: Callable[[], Any], seed: int, mode: Mode) -> LockedValues:
    with control(seed, mode=mode):
        entries = list_entries(fn())
        _require_content(entries)
        values = digest_entries(entries)
    machine = {
        f"{source.id}.{key}": str(value)
        for source in (Hardware(), CpuIsa())
        for key, value in source.describe().items()
    }
    return LockedValues(machine, _list_conditions(), values)


def _require_content(entries: list[Entry]) -> None:
    if all(entry.empty for entry in entries):
        raise UsageError("fn returned nothing to compare; return the losses, the model or its state_dict()")


def _list_conditions() -> dict[str, str]:
    import numpy as np
    import torch

    versions = {"python": platform.python_version(), "torch": str(torch.__version__), "numpy": np.__version__}
    return versions | {"threads": str(Threads().describe()["intra"])}


def _update(
    fn: Callable[[], Any], place: Path, kept: FunctionLock | None, now: LockedValues, seed: int, mode: Mode
) -> tuple[str, ...]:
    assert_same_run(fn, seed=seed, mode=mode)
    id_ = identify(now.machine)
    if kept is None or (kept.seed, kept.mode) != (seed, mode):
        kept = FunctionLock(seed, mode)
    locked = kept.environments.get(id_)
    moved = () if locked is None else _list_moved(locked.values, now.values)
    others = {} if moved else kept.environments  # their digests would be of the old function
    if locked is None or moved:
        write_function_lock(replace(kept, environments={**others, id_: now}), place)
    return moved


def _list_moved(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys((*now, *before)) if before.get(name) != now.get(name))


def _describe(place: Path, locked: LockedValues, now: LockedValues) -> str:
    moved = _list_moved(locked.values, now.values)
    kept = [name for name in locked.values if name not in moved]
    more = f" and {len(moved) - _MOST} more" if len(moved) > _MOST else ""
    same = f"; not moved: {', '.join(kept[:_MOST])}" if kept else ""
    changed = [
        f"{name} {locked.conditions.get(name)} → {value}"
        for name, value in now.conditions.items()
        if locked.conditions.get(name) != value
    ]
    since = f". Since the lock: {', '.join(changed)}" if changed else ""
    return f"not the locked bits ({place}): moved: {', '.join(moved[:_MOST])}{more}{same}{since}"
