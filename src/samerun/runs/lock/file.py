"""The file `samerun.lock`: TOML, sorted, the same text for the same lock. It may come from a stranger."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samerun.errors import RunError, SchemaError, UsageError
from samerun.runs import untrusted
from samerun.runs.lock.content import DIGESTS, FILLS, VERSION, Environment, Lock, LockedStep
from samerun.runs.lock.reader import AGAIN, COUNTS, LockReader
from samerun.runs.toml import parse_toml

FILE = "samerun.lock"
_MOST_BYTES = 1 << 20
_HEAD = "# Which bits this training gives: written by `samerun lock`, compared with by `samerun verify`.\n"
_WORDS = {fill: word or None for word, fill in FILLS.items()}


def read_lock(path: Path) -> Lock:
    """The lock in this file.

    Raises UsageError where there is none, SchemaError for another version, RunError for a damaged one.
    """
    try:
        table = parse_toml(untrusted.read_text(path, _MOST_BYTES))
    except FileNotFoundError:
        raise UsageError(f"There is no {path}. Write one: samerun lock -- python train.py") from None
    except OSError as error:
        raise RunError(f"The lock {path} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:
        raise RunError(f"The lock {path} is not TOML ({str(error)[:200]}). {AGAIN}") from None
    if table.get("version") != VERSION:
        raise SchemaError(
            f"The lock {path} has version {str(table.get('version'))[:40]!r}; this samerun knows {VERSION}. "
            "Use the samerun that wrote it, or lock again."
        )
    if table.get("digests") != DIGESTS:
        raise SchemaError(
            f"The lock {path} has digests {str(table.get('digests'))[:80]!r}; this samerun makes "
            f"{DIGESTS!r}. Use the samerun that wrote it, or lock again."
        )
    return LockReader(path).lock(table)


def write_lock(lock: Lock, path: Path) -> None:
    """Write the file, whole or not at all. Raises UsageError where it cannot be written."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_text(format_lock(lock), encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"The lock {path} cannot be written: {error.strerror or error}.") from None


def format_lock(lock: Lock) -> str:
    """The text of the file."""
    import tomli_w

    return _HEAD + tomli_w.dumps(_build_table(lock))


def _build_table(lock: Lock) -> dict[str, Any]:
    head = {
        "version": VERSION,
        "digests": DIGESTS,
        "command": shlex.join(lock.command),
        "program": "beside samerun" if lock.beside else None,
        "mode": lock.mode,
        "seed": str(lock.seed) if lock.seed >= 2**63 else lock.seed,
        "control": " ".join(lock.control) or None,
        "fill": _WORDS[lock.fill],
        "compatible": lock.compatible or None,
        "ranks": lock.ranks,
        "steps": lock.steps,
        "limit": lock.limit,
        "left_out": " ".join(lock.left_out) or None,
    }
    in_repository = lock.code.commit or lock.code.dirty  # dirty alone: before the first commit
    dirty = lock.code.dirty if in_repository else None
    code = {"commit": lock.code.commit, "dirty": dirty, "digest": lock.code.digest}
    return _drop_empty(
        {
            **head,
            "code": {**code, "files": _sort(lock.code.files), "variables": _sort(lock.code.variables)},
            "inputs": _sort(lock.inputs),
            "revisions": _sort(lock.revisions),
            "portable": {**_sort(lock.portable), COUNTS: _sort(lock.counts)},
            "environment": {
                id_: _build_environment(lock.environments[id_]) for id_ in sorted(lock.environments)
            },
        }
    )


def _build_environment(environment: Environment) -> dict[str, Any]:
    bounds, result = environment.bounds, environment.result
    return {
        "run": environment.run,
        "packages": ", ".join(f"{name} {version}" for name, version in sorted(environment.packages.items())),
        "machine": _sort(environment.machine),
        "settings": _sort(environment.settings),
        "variables": _sort(environment.variables),
        "bounds": None
        if bounds is None
        else {
            "loss": bounds.loss,
            "factors": "; ".join(bounds.factors),
            "metrics": _sort(bounds.metrics),
        },
        "root": _sort(environment.root),
        "result": {
            "loss": _format_loss(result.loss),
            "metrics": _sort(result.metrics),
            "files": _sort(result.files),
        },
        "steps": [_build_step(step) for step in environment.steps],
    }


def _build_step(step: LockedStep) -> dict[str, Any]:
    return {"at": step.at, "value": _format_loss(step.loss), **_sort(step.digests)}


def _format_loss(loss: float | None) -> str | None:
    return None if loss is None else f"{loss.hex()} = {loss:.9g}"


def _sort(table: Mapping[str, Any]) -> dict[str, Any]:
    return dict(sorted(table.items()))


def _drop_empty(table: Mapping[str, Any]) -> dict[str, Any]:
    """Without None, and without tables that hold nothing: TOML has no null."""
    kept: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            value = _drop_empty(value) or None
        elif isinstance(value, list):
            value = [_drop_empty(item) for item in value] or None
        if value is not None:
            kept[key] = value
    return kept
