"""The lock of a function: a file of the digests of what it returned, on each class of machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samerun.errors import RunError, SchemaError, UsageError
from samerun.ranks.named_digests import Entry
from samerun.runs import untrusted
from samerun.runs.lock.content import DIGESTS
from samerun.runs.toml import parse_toml

VERSION = 1
_HEAD = "# Which bits a function gives: written and compared with by samerun.testing.assert_locked.\n"
_MOST = 100  # entries that have a line of their own
_MOST_BYTES = 1 << 20
_AGAIN = "Write it again: update=True, or pytest --samerun-update."


@dataclass(frozen=True)
class LockedValues:
    """What the function returned on one class of machine."""

    machine: Mapping[str, str]
    conditions: Mapping[str, str]  # what else can move bits there: versions, threads
    values: Mapping[str, str]  # name of an entry, or the first part of many, to 32 hexadecimal digits


@dataclass(frozen=True)
class FunctionLock:
    """How the function is controlled, and what it gives by the id of the class of machine."""

    seed: int
    mode: str
    environments: Mapping[str, LockedValues] = field(default_factory=dict)


def identify(machine: Mapping[str, str]) -> str:
    """The id of a class of machine."""
    return hashlib.sha256(json.dumps(machine, sort_keys=True).encode()).hexdigest()[:8]


def digest_entries(entries: Iterable[Entry]) -> dict[str, str]:
    """The digest of each by its name; where there are many, of all whose names begin alike."""
    listed = list(entries)
    cut = len(listed) > _MOST
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entry in listed:
        name = re.split(r"[.\[]", entry.name, maxsplit=1)[0] if cut else entry.name
        found[name or "value"].append(f"{entry.name} {entry.digest.hex()}")
    return {name: _combine(lines) for name, lines in found.items()}


def _combine(lines: list[str]) -> str:
    if len(lines) == 1:
        return lines[0].rpartition(" ")[2]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def read_function_lock(path: Path) -> FunctionLock | None:
    """The lock in this file, None where there is none.

    Raises SchemaError for another version, RunError for a damaged one.
    """
    try:
        table = parse_toml(untrusted.read_text(path, _MOST_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RunError(f"The lock {path} cannot be read ({str(error)[:200]}). {_AGAIN}") from None
    if table.get("version") != VERSION or table.get("digests") != DIGESTS:
        raise SchemaError(
            f"The lock {path} has version {str(table.get('version'))[:40]!r} and digests "
            f"{str(table.get('digests'))[:80]!r}; this samerun makes {VERSION} and {DIGESTS!r}. {_AGAIN}"
        )
    try:
        environments = {
            id_: LockedValues(_texts(item["machine"]), _texts(item["conditions"]), _texts(item["values"]))
            for id_, item in table["environment"].items()
        }
        return FunctionLock(int(table["seed"]), str(table["mode"]), environments)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise RunError(f"The lock {path} is damaged ({str(error)[:60]}). {_AGAIN}") from None


def write_function_lock(lock: FunctionLock, path: Path) -> None:
    """Write the file, whole or not at all. Raises UsageError where it cannot be written."""
    import tomli_w

    table = {
        "version": VERSION,
        "digests": DIGESTS,
        "mode": lock.mode,
        "seed": str(lock.seed) if lock.seed >= 2**63 else lock.seed,
        "environment": {
            id_: {
                "conditions": dict(sorted(item.conditions.items())),
                "machine": dict(sorted(item.machine.items())),
                "values": dict(item.values),
            }
            for id_, item in sorted(lock.environments.items())
        },
    }
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(_HEAD + tomli_w.dumps(table), encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"The lock {path} cannot be written: {error.strerror or error}.") from None


def _texts(table: Any) -> dict[str, str]:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise TypeError("a table of texts is something else")
    return table
