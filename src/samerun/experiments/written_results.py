"""Results in files that runs wrote: which value is another one, and whether it is a result."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from samerun.comparing.paired_files import list_pairs, read_form, read_origin
from samerun.experiments.printed_results import (
    count_lines,
    find_differing_line,
    find_lines_alone,
    list_results_of,
    list_without_times,
)
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.result_words import classify_name, classify_text, counts_turns, is_of_time
from samerun.runs.ignored import IgnoredNames, LeftOut
from samerun.runs.store import Run
from samerun.runs.written import BEYOND, VALUE_OF, Value, WrittenFile, load_written

_SHOWN = 3  # files or values in a note
_DIGITS = re.compile(r"\d+")  # of a name: rows, steps
_ARRAYS = (".npy", ".npz", ".safetensors")
_DATED = (".pdf", ".ps", ".eps", ".docx", ".xlsx", ".pptx", ".odt", ".prof", ".pstats")  # as a rule
_ROW = re.compile(r"(?P<table>(?:.*\.)?)(?P<row>\d{1,9})(?P<column>(?:\..*)?)", re.DOTALL)
_LETTER = re.compile(r"[a-df-zA-DF-Z]|^\s*$")  # but for that of an exponent
_STORAGE = "tensor "  # what names one in a file of torch.save, before its number
_TENSORS = (_STORAGE, "array ")  # what names one in another file
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


class Alone(NamedTuple):
    """A result that only one of two runs wrote."""

    path: str
    name: str  # of the key or the column; the whole line of a text
    values: tuple[Value, ...]
    site: str | None  # the line that wrote it, or opened the file
    whole: bool = False  # whether the other run wrote no such file


def find_differing_value(
    runs: Sequence[Run], code: PrintingLines, *, any_order: bool = False
) -> Written | None:
    """The first result that the first run wrote and another wrote otherwise; None where none is seen to.

    `any_order`: torch.save may have written its tensors in another order, as other code does.
    """
    first, *others = [_load_kept(run) for run in runs]
    for run, files in zip(runs[1:], others, strict=True):
        for path, one, other_path, other in list_pairs(first, files):
            added = _pair_added(one.values, other.values) if other.was_read else {}
            if any_order and _list_storages(one) == _list_storages(other):
                added |= {name: value for name, value in one.values.items() if name.startswith(_STORAGE)}
            for name, value in one.values.items():
                there = added.get(name, other.values.get(name, value))
                if there != value and is_result(path, name, (value, there), code):
                    return Written(path, name, value, there, one.site, other.site)
            found = _find_line(path, (one, other), (runs[0], run), code)
            if found is not None or (found := _find_in_name(path, other_path, one)) is not None:
                return found
    return None


def _list_storages(file: WrittenFile) -> Counter[Value]:
    """What the tensors of a file of torch.save hold, which their numbers name in the order of writing."""
    return Counter(value for name, value in file.values.items() if name.startswith(_STORAGE))


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


def list_unclassified(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """(file, name) of the values of which nothing says whether they are results, and that differ."""
    first, *others = [_load_kept(run) for run in runs]
    found: dict[tuple[str, str], None] = {}
    for files in others:
        for path, one, _, other in list_pairs(first, files):
            moved = _list_storages(one) == _list_storages(other)
            for name, value in one.values.items():
                key = find_key(name)
                is_known = is_of_time(key) or classify_name(key) == "other"
                is_known |= moved and name.startswith(_STORAGE)
                if other.values.get(name, value) != value and not is_known:
                    found[path, name] = None
    return list(found)


def list_files_alone(runs: Sequence[Run]) -> tuple[list[Alone], list[Alone]]:
    """The results that one of two runs wrote and the other has not in that file and name; for each run."""
    one, other = [_load_kept(run) for run in runs]
    left = _list_whole(one, other, runs[0].ignored)
    right = _list_whole(other, one, runs[1].ignored)
    for path, file, other_path, there in list_pairs(one, other):
        left += _list_within(path, file, there, runs[0].ignored)
        right += _list_within(other_path, there, file, runs[1].ignored)
    return left, right


def _list_whole(
    files: Mapping[str, WrittenFile], others: Mapping[str, WrittenFile], ignored: IgnoredNames
) -> list[Alone]:
    """The results of files of which the other run wrote none alike."""
    paths = {read_form(path) for path in others}
    origins = {read_origin(path, file) for path, file in others.items() if file.site is not None}
    found: list[Alone] = []
    for path, file in files.items():
        if read_form(path) not in paths and read_origin(path, file) not in origins:
            items = _list_within(path, file, WrittenFile(None), ignored)
            found += [item._replace(whole=True) for item in items]
    return found


def _list_within(path: str, file: WrittenFile, other: WrittenFile, ignored: IgnoredNames) -> list[Alone]:
    """The results of a file whose key, column or line the other has not."""
    columns = {_DIGITS.sub("#", name) for name in other.values}
    found: dict[str, Alone] = {}
    for name, value in file.values.items():
        column = _DIGITS.sub("#", name)
        if column not in columns and not name.startswith(BEYOND) and _is_named_result(path, name, value):
            item = found.setdefault(column, Alone(path, name.rpartition(".")[2], (), file.site))
            found[column] = item._replace(values=(*item.values, value))
    texts = [count_lines(_name_numbers(path, each.text or ""), ignored) for each in (file, other)]
    lines, _ = find_lines_alone(texts[0], texts[1])
    return [
        *found.values(),
        *(Alone(path, repr(line), (*list_results_of(line),), file.site) for line in lines),
    ]


def _is_named_result(path: str, name: str, value: Value) -> bool:
    """Whether its name says that it is a result, or it is an array or a picture."""
    key = find_key(name)
    if value is None or isinstance(value, bool):
        return False
    if is_array(path, name) or name == "image":
        return not is_of_time(os.path.splitext(os.path.basename(path))[0] if name == "array" else key)
    return classify_name(key) == "result"


def list_results(run: Run) -> dict[str, dict[str, Value]]:
    """By file: the arrays and tensors that a run wrote, and the fractions that are called a result."""
    found = {
        path: {name: value for name, value in file.values.items() if _is_locked(path, name, value)}
        for path, file in load_written(run.path).items()
    }
    return {path: values for path, values in found.items() if values}


def list_other_fractions(run: Run) -> dict[str, dict[str, Value]]:
    """By file: the fractions that a run wrote of which no name says what they are."""
    found = {
        path: {name: value for name, value in file.values.items() if _is_of_no_kind(path, name, value)}
        for path, file in load_written(run.path).items()
    }
    return {path: values for path, values in found.items() if values}


def _is_locked(path: str, name: str, value: Value) -> bool:
    if is_array(path, name):
        return _is_named_result(path, name, value)
    return _is_fraction(name, value) and classify_name(find_key(name)) == "result"


def _is_of_no_kind(path: str, name: str, value: Value) -> bool:
    if is_array(path, name) or not _is_fraction(name, value):
        return False
    key = find_key(name)
    return classify_name(key) not in ("result", "other") and not is_of_time(key)


def _is_fraction(name: str, value: Value) -> bool:
    return isinstance(value, float) and not find_key(name).startswith(VALUE_OF)


def has_same_files(runs: Sequence[Run]) -> bool:
    """Whether all of them wrote the same files, with the same values."""
    first, *others = [_load_kept(run) for run in runs]
    return all(files == first for files in others)


def list_unread(runs: Sequence[Run], *, dated: bool = True) -> list[str]:
    """The files whose content differs between the first run and another and is not read by value.

    Not, where `dated` is False, those of a kind that holds dates.
    """
    first, *others = [_load_kept(run) for run in runs]
    found = [
        path
        for files in others
        for path, one, _, other in list_pairs(first, files)
        if one.digest != other.digest and (dated or not path.endswith(_DATED))
    ]
    return list(dict.fromkeys(found))


def list_other_texts(runs: Sequence[Run]) -> list[str]:
    """The texts that differ between the first run and another in more than times, paths and ids."""
    first, *others = [_load_kept(run) for run in runs]
    found = [
        path
        for files, run in zip(others, runs[1:], strict=True)
        for path, one, _, other in list_pairs(first, files)
        if one.text != other.text
        and list_without_times(one.text or "", runs[0].ignored)
        != list_without_times(other.text or "", run.ignored)
    ]
    return list(dict.fromkeys(found))


def list_lengths(runs: Sequence[Run]) -> list[tuple[str, int, int]]:
    """(file, how many values the first run wrote into it, how many another did), where these are not equal.

    Not of a table that the second went on with where the first had left it, nor of what torch.save wrote: a
    checkpoint has another number for each group of parameters.
    """
    first, *others = [_load_kept(run) for run in runs]
    found: dict[tuple[str, int, int], None] = {}
    for files in others:
        for path, one, _, other in list_pairs(first, files):
            mine, theirs = len(one.values), len(other.values)
            goes_on = other.was_read and bool(_pair_added(one.values, other.values))
            if 0 < mine != theirs > 0 and not goes_on and not is_of_torch(path, one):
                found[path, mine, theirs] = None
    return list(found)


def describe_unjudged(runs: Sequence[Run]) -> list[str]:
    """What to report of files that are not the same, where no result is seen to differ in them."""
    unread, texts, values = list_unread(runs), list_other_texts(runs), list_unclassified(runs)
    named = [f"{name} in {path}" for path, name in values]
    said = [
        _describe_other(unread, "what it holds is not compared", "what they hold is not compared"),
        _describe_other(texts, *["nothing says that what differs there is a result"] * 2),
        _describe_other(
            named, "nothing says that it is a result", "nothing says that they are results", "values"
        ),
    ]
    said += [
        f"{path} holds {one} values of run A, and {other} of run B" for path, one, other in list_lengths(runs)
    ]
    return [note for note in said if note]


def _describe_other(names: Sequence[str], of_one: str, of_more: str, kind: str = "files") -> str:
    if not names:
        return ""
    if len(names) == 1:
        return f"{names[0]}, which the runs wrote, is not the same in both; {of_one}"
    more = len(names) - _SHOWN
    others = kind.removesuffix("s") if more == 1 else kind
    shown = [*names[:_SHOWN], f"{more} more {others}"] if more > 0 else names
    listed = f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{listed}, which the runs wrote, are not the same in both; {of_more}"


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


def is_array(path: str, name: str) -> bool:
    """Whether a value of a file is the digest of an array or a tensor."""
    return path.endswith(_ARRAYS) or name == "array" or name.startswith(_TENSORS)


def find_key(name: str) -> str:
    """What a value is called: the last part of its name but for places in lists."""
    named = [part for part in name.split(".") if not part.isdigit()]
    return named[-1] if named else name


def is_of_torch(path: str, file: WrittenFile) -> bool:
    """Whether torch.save wrote it, by its name or by the tensors in it."""
    return path.endswith((".pt", ".pth", ".ckpt")) or any(name.startswith(_STORAGE) for name in file.values)


def is_result(path: str, name: str, values: tuple[Value, Value], code: PrintingLines) -> bool:
    """Whether two values of one name, in a file that both runs wrote, are results; `code` wrote them."""
    key = find_key(name)
    if name == "image":
        return not code.plots_what_changes()
    if is_array(path, name):
        own = os.path.splitext(os.path.basename(path))[0] if name == "array" else key
        return not (is_of_time(own) or code.key_changes_each_run(own))
    kind = classify_name(key)
    if kind in ("other", "result"):
        return kind == "result"
    if counts_turns(key) and all(type(value) is int for value in values):  # by which a training goes on
        return not code.key_changes_each_run(key)
    is_number = name.startswith(BEYOND) or any(isinstance(value, float) for value in values)
    if not is_number:  # counts, and texts
        return any(isinstance(value, str) for value in values) and classify_text(key) == "result"
    made = code.key_changes_each_run(key)  # None: the code does not say what it is
    return kind == "statistic" if made is None else not made
