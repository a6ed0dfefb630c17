"""Results in files that runs wrote: which value is another one, and whether it is a result."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from samerun.experiments.printed_results import count_lines, find_differing_line
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.result_words import classify_name, classify_text, is_of_time
from samerun.runs.ignored import LeftOut
from samerun.runs.store import Run
from samerun.runs.written import BEYOND, VALUE_OF, Value, WrittenFile, load_written

_CHANGING = re.compile(r"\d+|[0-9a-f]{6,}")  # of a path: times and ids
_ARRAYS = (".npy", ".npz", ".safetensors")
_DATED = (".pdf", ".ps", ".eps", ".docx", ".xlsx", ".pptx", ".odt", ".prof", ".pstats")  # as a rule
_ROW = re.compile(r"(?P<table>(?:.*\.)?)(?P<row>\d{1,9})(?P<column>(?:\..*)?)", re.DOTALL)
_LETTER = re.compile(r"[a-df-zA-DF-Z]|^\s*$")  # but for that of an exponent
_TENSORS = ("tensor ", "array ")  # what names one in another file
_LOCKED = (".json", ".jsonl", ".ndjson", ".csv", ".tsv")  # with the arrays, as in older locks
_JOINT = re.compile(r"[_=:/-]+|(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[a-zA-Z])")  # of words in the name of a file
_WHOLE = re.compile(r"(?<![\w.])(?:\d+|\d{4,}\.\d+)(?![\w.])")  # and times in seconds


class Written(NamedTuple):
    """A value or a line that two runs wrote into the same file, and that is not the same."""

    path: str
    name: str
    one: Value
    other: Value
    site: str | None  # the line that wrote it, or opened the file
    other_site: str | None = None  # that of the second run, where it is known
    as_now: bool = False  # `site` was found in the code as it reads now


def find_differing_value(runs: Sequence[Run], code: PrintingLines) -> Written | None:
    """The first result that the first run wrote and another wrote otherwise; None where none is seen to."""
    first, *others = [_load_kept(run) for run in runs]
    for run, files in zip(runs[1:], others, strict=True):
        for path, one, other_path, other in _list_pairs(first, files):
            added = _pair_added(one.values, other.values) if other.was_read else {}
            for name, value in one.values.items():
                there = added.get(name, other.values.get(name, value))
                if there != value and _is_result(path, name, (value, there), code):
                    return Written(path, name, value, there, one.site, other.site)
            found = _find_line(path, (one, other), (runs[0], run), code)
            if found is not None or (found := _find_in_name(path, other_path, one)) is not None:
                return found
    return None


def _pair_added(one: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """What the second run added to a table that the first left, for the row that stands in its place.

    {} where the second does not hold all of the first. Rows are known by the number in a name.
    """
    if len(other) <= len(one) or any(other.get(name, other) != value for name, value in one.items()):
        return {}
    new = {name: match for name in other.keys() - one.keys() if (match := _ROW.fullmatch(name))}
    rows: dict[str, set[str]] = {}
    for match in new.values():
        rows.setdefault(match["table"], set()).add(match["row"])
    added = {}
    for name, match in new.items():
        place = int(match["row"]) - len(rows[match["table"]])
        added[f"{match['table']}{place}{match['column']}"] = other[name]
    return {name: value for name, value in added.items() if name in one}


def _find_line(
    path: str, files: tuple[WrittenFile, WrittenFile], runs: tuple[Run, Run], code: PrintingLines
) -> Written | None:
    """The first line of a text that differs in a result."""
    if files[0].text is None or files[1].text is None or files[0].text == files[1].text:
        return None
    lines = code.of_files()
    texts = (_name_numbers(path, file.text or "") for file in files)
    one, other = (count_lines(text, run.ignored) for text, run in zip(texts, runs, strict=True))
    found = find_differing_line(one, other, lines)
    if found is None:
        return None
    written = lines.find(found.one)
    if written is None:
        return Written(path, found.one, found.one, found.other, files[0].site, files[1].site)
    return Written(path, found.one, found.one, found.other, written.site, as_now=True)


def _name_numbers(path: str, text: str) -> str:
    """The text, with the name of a result's file before lines that are numbers alone, as in MLflow's."""
    name = os.path.splitext(os.path.basename(path))[0]
    if classify_name(name) != "result":
        return text
    return "\n".join(line if _LETTER.search(line) else f"{name} {line}" for line in text.split("\n"))


def _find_in_name(one: str, other: str, file: WrittenFile) -> Written | None:
    """A result in the name of a file, `model_acc0.91.pt`: a fraction, whole numbers may be times."""
    if one == other:
        return None
    words = (_JOINT.sub(" ", os.path.splitext(path)[0]) for path in (one, other))
    first, second = (Counter([_WHOLE.sub("#", each)]) for each in words)
    if find_differing_line(first, second) is None:
        return None
    return Written(one, "its name", one, other, file.site)


def find_unclassified(runs: Sequence[Run]) -> tuple[str, str] | None:
    """(file, name) of the first value of which nothing says whether it is a result, and that differs."""
    first, *others = [_load_kept(run) for run in runs]
    for files in others:
        for path, one, _, other in _list_pairs(first, files):
            for name, value in one.values.items():
                key = name.rpartition(".")[2]
                is_known = is_of_time(key) or classify_name(key) == "other"
                if other.values.get(name, value) != value and not is_known:
                    return path, name
    return None


def list_results(run: Run) -> dict[str, dict[str, Value]]:
    """By file: the arrays and tensors that a run wrote, and the fractions that are called a result."""
    found = {
        path: {name: value for name, value in file.values.items() if _is_locked(path, name, value)}
        for path, file in load_written(run.path).items()
    }
    return {path: values for path, values in found.items() if values}


def _is_locked(path: str, name: str, value: Value) -> bool:
    if path.endswith((*_ARRAYS, ".pt", ".pth")):
        return _is_array(path, name)
    key = name.rpartition(".")[2]
    is_plain = path.endswith(_LOCKED) and not key.startswith(VALUE_OF)
    return is_plain and isinstance(value, float) and classify_name(key) == "result"


def has_same_files(runs: Sequence[Run]) -> bool:
    """Whether all of them wrote the same files, with the same values."""
    first, *others = [_load_kept(run) for run in runs]
    return all(files == first for files in others)


def find_unread(runs: Sequence[Run], *, dated: bool = True) -> str | None:
    """The first file whose content differs between the first run and another and is not read by value.

    Not where `dated` is False and it is of a kind that holds dates.
    """
    first, *others = [_load_kept(run) for run in runs]
    for files in others:
        for path, one, _, other in _list_pairs(first, files):
            if one.digest != other.digest and (dated or not path.endswith(_DATED)):
                return path
    return None


def describe_unread(path: str) -> str:
    """What to report of it."""
    return f"{path}, which the runs wrote, is not the same in both; what it holds is not compared"


def describe_unclassified(path: str, name: str) -> str:
    """What to report of such a value."""
    return (
        f"{name} in {path}, which the runs wrote, is not the same in both; nothing says that it is a result"
    )


def list_ignored_values(run: Run) -> list[LeftOut]:
    """What a run wrote that its user ignores: files, values in files, and results in texts."""
    found: dict[LeftOut, None] = {}
    for file in _load_kept(run, found).values():
        count_lines(file.text or "", run.ignored, found)
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
) -> Iterator[tuple[str, WrittenFile, str, WrittenFile]]:
    """Files of the same path, or of paths that are alike but for times and ids; else, of one line and name.

    The last as where a program works in a folder of `mktemp -d`, and each is the only one of its run.
    """
    alike = _group(other, lambda path, file: _CHANGING.sub("#", path))
    mine = _group({path: file for path, file in one.items() if path not in other}, _read_origin)
    made = _group({path: file for path, file in other.items() if path not in one}, _read_origin)
    for path, file in one.items():
        if path in other:
            yield path, file, path, other[path]
            continue
        found = alike.get(_CHANGING.sub("#", path), [])
        if not found and file.site is not None and len(mine[_read_origin(path, file)]) == 1:
            found = made.get(_read_origin(path, file), [])
        if len(found) == 1:
            yield path, file, *found[0]


def _group(
    files: dict[str, WrittenFile], key: Callable[[str, WrittenFile], Hashable]
) -> dict[Hashable, list[tuple[str, WrittenFile]]]:
    found: dict[Hashable, list[tuple[str, WrittenFile]]] = {}
    for path, file in files.items():
        found.setdefault(key(path, file), []).append((path, file))
    return found


def _read_origin(path: str, file: WrittenFile) -> Hashable:
    """The line that opened a file, and the file's name."""
    return file.site, os.path.basename(path)


def _is_array(path: str, name: str) -> bool:
    return path.endswith(_ARRAYS) or name == "array" or name.startswith(_TENSORS)


def _is_result(path: str, name: str, values: tuple[Value, Value], code: PrintingLines) -> bool:
    key = name.rpartition(".")[2]
    if name == "image":
        return not code.plots_what_changes()
    if _is_array(path, name):
        own = os.path.splitext(os.path.basename(path))[0] if name == "array" else key
        return not (is_of_time(own) or code.key_changes_each_run(own))
    kind = classify_name(key)
    if kind in ("other", "result"):
        return kind == "result"
    is_number = name.startswith(BEYOND) or any(isinstance(value, float) for value in values)
    if not is_number:  # counts, and texts
        return any(isinstance(value, str) for value in values) and classify_text(key) == "result"
    made = code.key_changes_each_run(key)  # None: the code does not say what it is
    return kind == "statistic" if made is None else not made
