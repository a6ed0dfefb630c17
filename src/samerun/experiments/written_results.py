"""Results in files that runs wrote: which value is another one, and whether it is a result."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from samerun.experiments.printed_results import classify_name, classify_text
from samerun.experiments.printing_lines import PrintingLines
from samerun.runs.ignored import LeftOut
from samerun.runs.store import Run
from samerun.runs.written import Value, WrittenFile, load_written

_CHANGING = re.compile(r"\d+|[0-9a-f]{6,}")  # of a path: times and ids
_ARRAYS = (".npy", ".npz", ".pt", ".pth", ".safetensors")


class Written(NamedTuple):
    """A value that two runs wrote into the same file, and that is not the same."""

    path: str
    name: str
    one: Value
    other: Value
    site: str | None  # the line that opened the file


def find_differing_value(runs: Sequence[Run], code: PrintingLines) -> Written | None:
    """The first result that the first run wrote and another wrote otherwise; None where none is seen to."""
    first, *others = [_load_kept(run) for run in runs]
    for files in others:
        for path, one, other in _list_pairs(first, files):
            for name, value in one.values.items():
                there = other.values.get(name, value)
                if there != value and _is_result(path, name, (value, there), code):
                    return Written(path, name, value, there, one.site)
    return None


def list_results(run: Run) -> dict[str, dict[str, Value]]:
    """By file: the arrays and tensors that a run wrote, and the fractions that are called a result."""
    found = {
        path: {
            name: value
            for name, value in file.values.items()
            if path.endswith(_ARRAYS) or (isinstance(value, float) and _is_named_result(name))
        }
        for path, file in load_written(run.path).items()
    }
    return {path: values for path, values in found.items() if values}


def _is_named_result(name: str) -> bool:
    return classify_name(name.rpartition(".")[2]) == "result"


def has_same_files(runs: Sequence[Run]) -> bool:
    """Whether all of them wrote the same files, with the same values."""
    first, *others = [_load_kept(run) for run in runs]
    return all(files == first for files in others)


def find_unread(runs: Sequence[Run]) -> str | None:
    """The first file whose content differs between the first run and another and is not read by value."""
    first, *others = [_load_kept(run) for run in runs]
    for files in others:
        for path, one, other in _list_pairs(first, files):
            if one.digest != other.digest:
                return path
    return None


def describe_unread(path: str) -> str:
    """What to report of it."""
    return f"{path}, which the runs wrote, is not the same in both; what it holds is not compared"


def list_ignored_values(run: Run) -> list[LeftOut]:
    """What a run wrote that its user ignores: files, and values in files."""
    found: dict[LeftOut, None] = {}
    _load_kept(run, found)
    return list(found)


def _load_kept(run: Run, left_out: dict[LeftOut, None] | None = None) -> dict[str, WrittenFile]:
    """What it wrote, without what is to be ignored, which goes into `left_out`."""
    files = load_written(run.path)
    if not run.ignored:
        return files
    kept = {}
    found = {} if left_out is None else left_out
    for path, file in files.items():
        whole = run.ignored.find_record("written", path)
        if whole is not None:
            found[whole] = None
            continue
        values = {}
        for name, value in file.values.items():
            reason = run.ignored.find(name, f"{name} in {path}")
            if reason is None:
                values[name] = value
            else:
                found[LeftOut("written", f"{name} in {path}", reason)] = None
        kept[path] = replace(file, values=values)
    return kept


def _list_pairs(
    one: dict[str, WrittenFile], other: dict[str, WrittenFile]
) -> Iterator[tuple[str, WrittenFile, WrittenFile]]:
    """Files of the same path, or of paths that are alike but for times and ids; else, of one line and name.

    The last as where a program works in a folder of `mktemp -d`, and each is the only one of its run.
    """
    alike = _group(other, lambda path, file: _CHANGING.sub("#", path))
    mine = _group({path: file for path, file in one.items() if path not in other}, _read_origin)
    made = _group({path: file for path, file in other.items() if path not in one}, _read_origin)
    for path, file in one.items():
        if path in other:
            yield path, file, other[path]
            continue
        found = alike.get(_CHANGING.sub("#", path), [])
        if not found and file.site is not None and len(mine[_read_origin(path, file)]) == 1:
            found = made.get(_read_origin(path, file), [])
        if len(found) == 1:
            yield path, file, found[0]


def _group(
    files: dict[str, WrittenFile], key: Callable[[str, WrittenFile], Hashable]
) -> dict[Hashable, list[WrittenFile]]:
    found: dict[Hashable, list[WrittenFile]] = {}
    for path, file in files.items():
        found.setdefault(key(path, file), []).append(file)
    return found


def _read_origin(path: str, file: WrittenFile) -> Hashable:
    """The line that opened a file, and the file's name."""
    return file.site, os.path.basename(path)


def _is_result(path: str, name: str, values: tuple[Value, Value], code: PrintingLines) -> bool:
    if path.endswith(_ARRAYS):
        return True
    key = name.rpartition(".")[2]
    kind = classify_name(key)
    if kind in ("other", "result"):
        return kind == "result"
    if not any(isinstance(value, float) for value in values):  # counts, and texts
        return any(isinstance(value, str) for value in values) and classify_text(key) == "result"
    made = code.key_changes_each_run(key)  # None: the code does not say what it is
    return kind == "statistic" if made is None else not made
