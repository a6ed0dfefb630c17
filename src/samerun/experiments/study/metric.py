"""Where a command's metric is found: in what it printed, or in a file that it wrote."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samerun.errors import RunError, UsageError
from samerun.runs import untrusted

_JSON, _FILE = "json:", "file:"
_MOST_BYTES = 256 << 20


def check(metric: str) -> None:
    """Raise UsageError for a metric that can never be found."""
    if metric.startswith(_JSON):
        if not metric[len(_JSON) :].rpartition(":")[0]:
            raise UsageError(
                f"--metric {metric}: write json:FILE:KEY, such as json:result.json:test.accuracy"
            )
        return
    if metric.startswith(_FILE):
        if metric == _FILE:
            raise UsageError("--metric file: names no file; write file:score.txt")
        return
    try:
        pattern = re.compile(metric)
    except re.error as error:
        raise UsageError(f"--metric {metric!r} is not a regular expression ({error})") from None
    if pattern.groups != 1:
        raise UsageError(
            f"--metric {metric!r} has {pattern.groups} groups; put one pair of parentheses around the "
            r"number, such as 'accuracy ([\d.]+)'"
        )


def is_in_file(metric: str) -> bool:
    """Whether it is in a file that the command writes, so that runs side by side need their own folders."""
    return metric.startswith((_JSON, _FILE))


State = tuple[int, int, int] | None  # of a file, by which one sees that it was written


def read_state(metric: str, folder: Path) -> State:
    """The state of the file that the metric is in, before a run; None where there is none."""
    path = _find_file(metric, folder)
    try:
        status = None if path is None else path.stat()
    except OSError:
        return None
    return None if status is None else (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


def read(metric: str, printed: str, folder: Path, before: State = None) -> float:
    """The number: the last match in what was printed, or what the file in `folder` says.

    Raises RunError when it is not there or is no finite number, or in a file that is as it was `before`.
    """
    path = _find_file(metric, folder)
    if path is not None and before is not None and read_state(metric, folder) == before:
        raise RunError(
            f"the metric {metric}: this run did not write {path.name}, which was there before; does the "
            "command write it by another path?"
        )
    if path is not None and metric.startswith(_JSON):
        key = metric.rpartition(":")[2]
        return _number(metric, _find_value(metric, _read_json(metric, path), key))
    if path is not None:
        return _number(metric, _read_text(metric, path))
    found = re.findall(metric, printed)
    if not found:
        raise RunError(f"the metric {metric!r} matches nothing that the command printed")
    return _number(metric, found[-1])


def _find_file(metric: str, folder: Path) -> Path | None:
    if metric.startswith(_JSON):
        return folder / metric[len(_JSON) :].rpartition(":")[0]
    return folder / metric[len(_FILE) :] if metric.startswith(_FILE) else None


def _read_json(metric: str, path: Path) -> Any:
    try:
        return untrusted.parse_json(_read_text(metric, path))
    except ValueError as error:
        raise RunError(f"the metric {metric}: {path.name} is not JSON ({error})") from None


def _find_value(metric: str, value: Any, key: str) -> Any:
    for part in key.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.lstrip("-").isdigit() and -len(value) <= int(part) < len(value):
            value = value[int(part)]
        else:
            raise RunError(f"the metric {metric}: there is no {part!r} in it")
    return value


def _read_text(metric: str, path: Path) -> str:
    try:
        return untrusted.read_text(path, _MOST_BYTES, follow=True).strip()
    except OSError as error:
        raise RunError(f"the metric {metric}: {path.name} cannot be read ({error.strerror})") from None


def _number(metric: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise RunError(f"the metric {metric}: {str(value)[:60]!r} is not a number") from None
    if not math.isfinite(number):
        raise RunError(f"the metric {metric} is {number}: such a run has no place in a variance")
    return number
