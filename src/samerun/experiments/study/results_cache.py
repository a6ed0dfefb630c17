"""The results of finished runs, kept so that no run is ever made twice."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import msgspec

from samerun.errors import RunError
from samerun.experiments.study.tasks import Task, TaskResult
from samerun.runs import untrusted
from samerun.runs.secrets_in_text import hide_secrets

FILE = "studies.jsonl"
_MOST_BYTES = 1 << 30  # half a kB a run


class Ledger:
    """One line for each finished run, of whatever study; a line that a crash cut short is skipped."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._known = self._read()

    def get(self, task: Task) -> TaskResult | None:
        """The result of this very task, None when it has not finished yet."""
        return self._known.get(task.key)

    def add(self, task: Task, done: TaskResult) -> None:
        """Keep a result, on disk before this returns. Raises RunError when the disk does not take it."""
        shown = replace(task, command=hide_secrets(task.command))
        line = json.dumps({"task": json.loads(shown.to_json()), "done": json.loads(done.to_json())})
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(0o600)
            with self._path.open("ab+") as file:
                file.seek(0, os.SEEK_END)
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":
                        file.write(b"\n")  # a line that a crash cut short must not spoil this one
                file.write(line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunError(
                f"A result cannot be kept in {self._path}: {error.strerror}. Free some space, and start the "
                "study again: it goes on where it stopped."
            ) from None
        self._known[task.key] = done

    def _read(self) -> dict[str, TaskResult]:
        try:
            text = untrusted.read_text(self._path, _MOST_BYTES, errors="replace")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise RunError(
                f"The results in {self._path} cannot be read: {error.strerror or error}. Move it away, and "
                "start the study again."
            ) from None
        known = {}
        for line in text.splitlines():
            try:
                done = msgspec.convert(untrusted.parse_json(line)["done"], TaskResult)
            except (ValueError, KeyError, TypeError):
                continue
            if done.value is not None and math.isfinite(done.value):
                known[done.key] = done
        return known
