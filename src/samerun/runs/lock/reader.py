"""Reads a lock from the table of its file, which may be a stranger's: types, ranges and paths are checked."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from samerun.errors import RunError
from samerun.runs.lock.content import (
    FILLS,
    Bounds,
    Environment,
    Lock,
    LockedCode,
    LockedResult,
    LockedStep,
    is_inside,
)
from samerun.runs.plan import MODES

COUNTS = "counts"  # the table of draws below what is portable
AGAIN = "Lock again, or copy it again."
_DIGEST, _COMMIT, _ROOT = 32, 40, 64  # hexadecimal digits


class LockReader:
    """Makes a lock of the table of its file, and refuses with RunError what no lock can hold."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lock(self, table: Mapping[str, Any]) -> Lock:
        """The whole lock."""
        mode = self._text(table, "mode")
        if mode not in MODES:
            self._refuse("mode", mode)
        fill = self._text(table, "fill", "")
        if fill not in FILLS:
            self._refuse("fill", fill)
        environments = {
            id_: self._environment(inner) for id_, inner in self._tables(table, "environment").items()
        }
        if not environments:
            self._refuse("environment", "none")
        portable = dict(self._table(table, "portable"))
        counts = self._table(portable, COUNTS)
        portable.pop(COUNTS, None)
        return Lock(
            command=self._command(table),
            mode=mode,
            seed=self._seed(table),
            ranks=self._integer(table, "ranks", 1, 2**20),
            steps=self._integer(table, "steps", 0, 2**31 - 1),
            code=self._code(self._table(table, "code")),
            environments=environments,
            inputs=self._digests(self._table(table, "inputs"), paths=True),
            revisions=self._revisions(table),
            portable=self._digests(portable, length=_ROOT),
            counts={id_: self._integer(counts, id_, 0, 2**63 - 1) for id_ in counts},
            control=tuple(self._text(table, "control", "").split()),
            fill=FILLS[fill],
            compatible=self._flag(table, "compatible"),
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
        dirty, variables = table.get("dirty") is True, self._texts(table, "variables")
        return LockedCode(digest, files, commit or None, dirty, variables)

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
                self._loss(result, "loss"),
                self._numbers(result, "metrics"),
                self._digests(self._table(result, "files"), paths=True),
            ),
            bounds=self._bounds(self._table(table, "bounds")),
        )

    def _revisions(self, table: Mapping[str, Any]) -> dict[str, str]:
        found = self._texts(table, "revisions")
        for name, commits in found.items():
            if not all(len(commit) == _COMMIT and _is_hex(commit) for commit in commits.split(" ")):
                self._refuse(name, commits)
        return found

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
        return LockedStep(at, digests, self._loss(table, "value"))

    def _loss(self, table: Mapping[str, Any], key: str) -> float | None:
        text = self._text(table, key, "")
        try:
            return float.fromhex(text.partition(" ")[0]) if text else None
        except (ValueError, OverflowError):
            self._refuse(key, text)

    # --- values ---------------------------------------------------------------------------------------

    def _text(self, table: Mapping[str, Any], key: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            self._refuse(key, value)
        return value

    def _flag(self, table: Mapping[str, Any], key: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
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
                    f"The lock {self._path} names {name[:200]!r}, which is no path below its folder. {AGAIN}"
                )
        return dict(table)

    def _refuse(self, key: str, value: object) -> NoReturn:
        raise RunError(
            f"The lock {self._path} is damaged ({str(key)[:60]!r} is {str(value)[:60]!r}). {AGAIN}"
        )


def _is_hex(text: str) -> bool:
    return all(character in "0123456789abcdef" for character in text)
