"""The file `samerun.lock`: TOML, sorted, the same text for the same lock. It may come from a stranger."""

from __future__ import annotations

import math
import os
import secrets
import shlex
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from samerun.errors import RunError, SchemaError, UsageError
from samerun.runs import untrusted
from samerun.runs.lock import (
    DIGESTS,
    VERSION,
    Bounds,
    Environment,
    Lock,
    LockedCode,
    LockedResult,
    LockedStep,
)
from samerun.runs.plan import MODES, Fill
from samerun.runs.toml import parse_toml

FILE = "samerun.lock"
OUTSIDE = "…/"  # begins the name of a file that does not lie below the lock
_MOST_BYTES = 1 << 20
_HEAD = "# Which bits this training gives: written by `samerun lock`, compared with by `samerun verify`.\n"
_DIGEST, _ROOT = 32, 64  # hexadecimal digits
_FILL_WORDS: Mapping[str, Fill] = {"": False, "zeros": True, "nan": "nan"}
_FILLS: Mapping[Fill, str | None] = {fill: word or None for word, fill in _FILL_WORDS.items()}


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
        raise RunError(f"The lock {path} is not TOML ({str(error)[:200]}). {_AGAIN}") from None
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
    return _Reader(path).lock(table)


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


_AGAIN = "Lock again, or copy it again."


# --- writing --------------------------------------------------------------------------------


def _build_table(lock: Lock) -> dict[str, Any]:
    head = {
        "version": VERSION,
        "digests": DIGESTS,
        "command": shlex.join(lock.command),
        "program": "beside samerun" if lock.beside else None,
        "mode": lock.mode,
        "seed": str(lock.seed) if lock.seed >= 2**63 else lock.seed,
        "control": " ".join(lock.control) or None,
        "fill": _FILLS[lock.fill],
        "ranks": lock.ranks,
        "steps": lock.steps,
        "limit": lock.limit,
        "left_out": " ".join(lock.left_out) or None,
    }
    code = {"commit": lock.code.commit, "dirty": lock.code.dirty, "digest": lock.code.digest}
    return _drop_empty(
        {
            **head,
            "code": {**code, "files": _sort(lock.code.files)},
            "inputs": _sort(lock.inputs),
            "portable": _sort(lock.portable),
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
        "result": {"metrics": _sort(result.metrics), "files": _sort(result.files)},
        "steps": [_build_step(step) for step in environment.steps],
    }


def _build_step(step: LockedStep) -> dict[str, Any]:
    shown = None if step.loss is None else f"{step.loss.hex()} = {step.loss:.9g}"
    return {"at": step.at, "value": shown, **_sort(step.digests)}


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


# --- reading --------------------------------------------------------------------------------


class _Reader:
    """Checks the type and the range of each value."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lock(self, table: Mapping[str, Any]) -> Lock:
        mode = self._text(table, "mode")
        if mode not in MODES:
            self._refuse("mode", mode)
        fill = self._text(table, "fill", "")
        if fill not in _FILL_WORDS:
            self._refuse("fill", fill)
        environments = {
            id_: self._environment(inner) for id_, inner in self._tables(table, "environment").items()
        }
        if not environments:
            self._refuse("environment", "none")
        return Lock(
            command=self._command(table),
            mode=mode,
            seed=self._seed(table),
            ranks=self._integer(table, "ranks", 1, 2**20),
            steps=self._integer(table, "steps", 0, 2**31 - 1),
            code=self._code(self._table(table, "code")),
            environments=environments,
            inputs=self._digests(self._table(table, "inputs"), paths=True),
            portable=self._digests(self._table(table, "portable"), length=_ROOT),
            control=tuple(self._text(table, "control", "").split()),
            fill=_FILL_WORDS[fill],
            limit=None if "limit" not in table else self._integer(table, "limit", 1, 2**31 - 1),
            beside="program" in table,
            left_out=tuple(self._text(table, "left_out", "").split()),
        )

    def _command(self, table: Mapping[str, Any]) -> tuple[str, ...]:
        text = self._text(table, "command")
        try:
            words = tuple(shlex.split(text))
        except ValueError:
            self._refuse("command", text)
        if not words or "\0" in text or any(PurePosixPath(word).is_absolute() for word in words):
            self._refuse("command", text)
        return words

    def _seed(self, table: Mapping[str, Any]) -> int:
        value = table.get("seed")
        if isinstance(value, str) and value.isdecimal() and len(value) <= 20:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
            self._refuse("seed", value)
        return value

    def _code(self, table: Mapping[str, Any]) -> LockedCode:
        commit = self._text(table, "commit", "")
        if commit and (len(commit) > 64 or not _is_hex(commit)):
            self._refuse("commit", commit)
        files = self._digests(self._table(table, "files"), paths=True)
        digest = self._digests({"digest": table.get("digest")})["digest"]
        return LockedCode(digest, files, commit or None, table.get("dirty") is True)

    def _environment(self, table: Mapping[str, Any]) -> Environment:
        result = self._table(table, "result")
        return Environment(
            run=self._text(table, "run"),
            machine=self._texts(table, "machine"),
            settings=self._texts(table, "settings"),
            packages=self._packages(table),
            variables=self._texts(table, "variables"),
            steps=self._steps(table),
            root=self._digests(self._table(table, "root"), length=_ROOT),
            result=LockedResult(
                self._numbers(result, "metrics"), self._digests(self._table(result, "files"), paths=True)
            ),
            bounds=self._bounds(self._table(table, "bounds")),
        )

    def _packages(self, table: Mapping[str, Any]) -> dict[str, str]:
        pairs = [entry.partition(" ") for entry in self._text(table, "packages", "").split(", ")]
        return {name: version for name, _, version in pairs if name}

    def _bounds(self, table: Mapping[str, Any]) -> Bounds | None:
        if not table:
            return None
        loss = self._numbers({"bounds": {"loss": table.get("loss")}}, "bounds")["loss"]
        factors = tuple(filter(None, self._text(table, "factors", "").split("; ")))
        return Bounds(loss, self._numbers(table, "metrics"), factors)

    def _steps(self, table: Mapping[str, Any]) -> tuple[LockedStep, ...]:
        found = table.get("steps", [])
        if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
            self._refuse("steps", found)
        steps = [self._step(item) for item in found]
        if [step.at for step in steps] != sorted({step.at for step in steps}):
            self._refuse("steps", [step.at for step in steps])
        return tuple(steps)

    def _step(self, table: Mapping[str, Any]) -> LockedStep:
        at = self._integer(table, "at", 0, 2**31 - 1)
        digests = self._digests({key: item for key, item in table.items() if key not in ("at", "value")})
        text = self._text(table, "value", "")
        try:
            loss = float.fromhex(text.partition(" ")[0]) if text else None
        except (ValueError, OverflowError):
            self._refuse("value", text)
        return LockedStep(at, digests, loss)

    # --- values ---------------------------------------------------------------------------------------

    def _text(self, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            self._refuse(key, value)
        return value

    def _integer(self, table: Mapping[str, Any], key: str, least: int, most: int) -> int:
        value = table.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self._refuse(key, value)
        return value

    def _table(self, table: Mapping[str, Any], key: str) -> dict[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            self._refuse(key, value)
        return value

    def _tables(self, table: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
        found = self._table(table, key)
        return {name: self._table(found, name) for name in found}

    def _texts(self, table: Mapping[str, Any], key: str) -> dict[str, str]:
        found = self._table(table, key)
        return {name: self._text(found, name) for name in found}

    def _numbers(self, table: Mapping[str, Any], key: str) -> dict[str, float]:
        found = self._table(table, key)
        for name, value in found.items():
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
                self._refuse(name, value)
        return {name: float(value) for name, value in found.items()}

    def _digests(
        self, table: Mapping[str, Any], *, length: int = _DIGEST, paths: bool = False
    ) -> dict[str, str]:
        for name, value in table.items():
            if not isinstance(value, str) or len(value) != length or not _is_hex(value):
                self._refuse(name, value)
            if paths and not is_inside(name):
                raise RunError(
                    f"The lock {self._path} names {name[:200]!r}, which is no path below its folder. {_AGAIN}"
                )
        return dict(table)

    def _refuse(self, key: str, value: object) -> NoReturn:
        raise RunError(
            f"The lock {self._path} is damaged ({str(key)[:60]!r} is {str(value)[:60]!r}). {_AGAIN}"
        )


def is_inside(name: str) -> bool:
    """Whether this is a relative path that does not climb, or the mere name of a file outside."""
    path = PurePosixPath(name.removeprefix(OUTSIDE))
    climbs = path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name
    return bool(path.parts) and not climbs and (not name.startswith(OUTSIDE) or len(path.parts) == 1)


def _is_hex(text: str) -> bool:
    return all(character in "0123456789abcdef" for character in text)
