"""What is known of a run as a whole: the manifest beside its traces."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from samerun.errors import RunError, SchemaError
from samerun.runs import untrusted
from samerun.runs.schema import SCHEMA
from samerun.runs.secrets_in_text import hide_secrets

FILE = "manifest.json"
Outcome = Literal["running", "finished", "failed", "interrupted", "timeout", "stopped"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_MOST_BYTES = 32 << 20  # it names each file of code that ran


@dataclass(frozen=True)
class Manifest:
    """One run: what was started, where and how, and what became of it."""

    id: str
    command: tuple[str, ...]
    cwd: str
    started: str  # UTC, ISO 8601
    tier: str = "steps"
    outcome: Outcome = "running"
    duration_s: float | None = None
    exit_code: int | None = None  # negative: the signal that ended it
    error: str | None = None  # what went wrong, for people
    steps: int | None = None  # optimizer steps completed; None: not known
    seed: int | None = None
    mode: str | None = None  # None: the sources were left alone
    plan: Mapping[str, Any] = field(default_factory=dict)
    git: Mapping[str, Any] | None = None  # as runs.provenance.describe_git says
    platform: str = ""
    python: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)  # as runs.provenance.environment says
    packages: Mapping[str, str] = field(default_factory=dict)  # name to version
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # source id to what it says
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The manifest as plain JSON values."""
        return dataclasses.asdict(self) | {"command": list(self.command)}

    def write(self, folder: Path) -> None:
        """Write manifest.json, whole or not at all. Raises OSError."""
        text = json.dumps(self.to_dict(), indent=2, sort_keys=True, default=str) + "\n"
        temporary = folder / f".{FILE}.{secrets.token_hex(4)}"
        try:
            temporary.touch(0o600, exist_ok=False)
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
            os.replace(temporary, folder / FILE)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of the run in this folder.

        Raises RunError when there is none or it is damaged, SchemaError for a version not known here.
        """
        path = folder / FILE
        try:
            value = untrusted.parse_json(untrusted.read_text(path, _MOST_BYTES))
        except OSError as error:
            raise RunError(
                f"The manifest {path} cannot be read: {error.strerror or error}. "
                "A run is a folder with a manifest.json; name one, or record the run again."
            ) from None
        except ValueError as error:
            raise _make_damaged_error(path, error) from None
        if not isinstance(value, dict):
            raise _make_damaged_error(path, f"a JSON {type(value).__name__} instead of an object")
        if value.get("schema") != SCHEMA:
            raise SchemaError(
                f"The manifest {path} has schema {value.get('schema')!r}; this samerun knows {SCHEMA}. "
                "Install the samerun that wrote it, or record the run again."
            )
        return _read_dict(path, value)


def _read_dict(path: Path, value: Mapping[str, Any]) -> Manifest:
    """Check the types of what comparing and reports rely on: the file may come from a stranger."""
    known = {item.name: item for item in dataclasses.fields(Manifest)}
    values = {name: given for name, given in value.items() if name in known}
    for name in known:
        if name not in values:
            raise _make_damaged_error(path, f"it has no {name!r}")
        if not isinstance(values[name], _KINDS[name]) or isinstance(values[name], bool):
            raise _make_damaged_error(path, f"{name!r} is {str(values[name])[:60]!r}")
    if not all(isinstance(part, str) for part in values["command"]):
        raise _make_damaged_error(path, f"'command' is {str(values['command'])[:60]!r}")
    for name, (least, most) in _RANGES.items():
        if values[name] is not None and not least <= values[name] <= most:
            raise _make_damaged_error(path, f"{name!r} is {str(values[name])[:60]}")
    if values["outcome"] not in OUTCOMES:
        raise _make_damaged_error(
            path, f"'outcome' is {values['outcome']!r}, not one of {', '.join(OUTCOMES)}"
        )
    return Manifest(**{**values, "command": hide_secrets(values["command"])})


_NONE = type(None)
_KINDS: Mapping[str, tuple[type, ...]] = {
    "id": (str,),
    "command": (list,),
    "cwd": (str,),
    "started": (str,),
    "tier": (str,),
    "outcome": (str,),
    "duration_s": (int, float, _NONE),
    "exit_code": (int, _NONE),
    "error": (str, _NONE),
    "steps": (int, _NONE),
    "seed": (int, _NONE),
    "mode": (str, _NONE),
    "plan": (dict,),
    "git": (dict, _NONE),
    "platform": (str,),
    "python": (str,),
    "environment": (dict,),
    "packages": (dict,),
    "settings": (dict,),
    "schema": (int,),
}


_RANGES: Mapping[str, tuple[float, float]] = {
    "duration_s": (0, 1e12),
    "exit_code": (-(2**31), 2**32 - 1),  # Windows has codes of 32 bits
    "steps": (0, 2**31 - 1),
}


def _make_damaged_error(path: Path, found: object) -> RunError:
    return RunError(f"The manifest {path} is damaged ({found}). Record the run again, or copy it again.")
