"""Keeps what a run wrote, by value, before another run writes over it."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from samerun.launching.summarise_traces import read_readable
from samerun.launching.written_files.events import began_before
from samerun.launching.written_files.texts import digest
from samerun.launching.written_files.values import holds_data, read_written
from samerun.runs import untrusted
from samerun.runs.schema import RENAMED
from samerun.runs.source_lines import OF_SHELLS
from samerun.runs.store import Run
from samerun.runs.written import WrittenFile, save_written
from samerun.sources.code import Code

_MOST_FILES = 200
_MOST_ENTRIES = 20_000  # of folders, that are looked at
_MOST_CODE = 1 << 20  # bytes of one file
_MOST_TEXT = 16 << 20  # characters of texts without a form, all together
_MOST_VALUES = 300_000  # all together; of files beyond, which are known by a digest, a note is made
_ANYWHERE = 1 << 62
_TEXTS = frozenset([".txt", ".log", ".out"])
_FORMS_OF_OTHERS = frozenset([".json", ".jsonl", ".ndjson", ".csv", ".tsv"])  # as other programs write them


def keep_written(run: Run, folder: Path, root: Path | None, since: float) -> None:
    """Write `written.json` into the folder of a run that was made in `folder`.

    `root` is what stands for `/` there, `since` when the run began, in seconds since the epoch. What
    cannot be opened is left out.
    """
    found: dict[str, WrittenFile] = {}
    opened, read = _find_opened(run.path)
    code, shells = _read_code(run, folder), _read_shells(run, folder)
    texts, values = _MOST_TEXT, _MOST_VALUES  # that are left
    for name in (*opened, *_list_changed(folder, opened, since, code, shells)):
        if len(found) >= _MOST_FILES:
            break
        site, start = opened.get(name, (None, 0))
        with contextlib.suppress(OSError):
            file = read_written(_locate(name, folder, root, since), start)
            if len(file.values) > values or len(file.text or "") > texts:
                file = WrittenFile(None, digest=digest(repr((file.values, file.text)).encode()))
            texts, values = texts - len(file.text or ""), values - len(file.values)
            if file.values or file.digest or file.text:
                found[name] = replace(file, site=site, was_read=name in read)
    with contextlib.suppress(OSError):  # the disk is full: the run says so itself
        save_written(found, run.path)


def _find_opened(run: Path) -> tuple[dict[str, tuple[str | None, int]], set[str]]:
    """(each file that was opened to write: its line, where what the run added to it begins; those read).

    One that was not there, as a new database, is read as an empty file, and does not count as read.
    """
    found: dict[str, tuple[str | None, int]] = {}
    read: set[str] = set()
    for trace in read_readable(run):
        for row in trace.rows(trace.is_one_of("what", {"written", "opened"})):
            if row.what == "written" and row.name == RENAMED:
                continue  # of those that are data, `_list_changed` finds what is there at the end
            if row.detail and row.what == "written":
                site, start = found.get(row.detail, (None, _ANYWHERE))
                found[row.detail] = site or row.call_site, min(start, int(row.value or 0))
            elif row.detail and row.value:
                read.add(row.detail)
    return found, read


def _read_code(run: Run, folder: Path) -> str:
    """The text of the user's files that ran, all together."""
    texts = []
    for name in run.manifest.settings.get(Code.id, {}):
        with contextlib.suppress(OSError):
            texts.append(untrusted.read_text(folder / name, _MOST_CODE, errors="replace"))
    return "\n".join(texts)


def _read_shells(run: Run, folder: Path) -> str:
    """The words of the command, and the text of the shell scripts among them."""
    texts = list(run.manifest.command)
    for word in run.manifest.command:
        if word.endswith(OF_SHELLS):
            with contextlib.suppress(OSError):
                texts.append(untrusted.read_text(folder / word, _MOST_CODE, errors="replace"))
    return "\n".join(texts)


def _list_changed(
    folder: Path, opened: dict[str, tuple[str | None, int]], since: float, code: str, shells: str
) -> list[str]:
    """Other files of data that are newer than the run: renamed when whole, or written by native code.

    Tables of text are looked for only where the run wrote other files, or where their name is that of such
    a file, or stands in the code: another program may write some too. Other texts only where a shell names
    them, as in `| tee eval.log`.
    """
    places = {"", *(os.path.dirname(name) for name in opened if not os.path.isabs(name))}
    names = {os.path.basename(name) for name in opened}
    found: list[str] = []
    for place, entry in _walk(folder):
        path = Path(place, entry.name)
        is_text = path.suffix.lower() in _FORMS_OF_OTHERS
        is_others = is_text and not (place in places or entry.name in names or entry.name in code)
        is_named = path.suffix.lower() in _TEXTS and entry.name in shells
        if str(path) in opened or not (holds_data(path) or is_named) or began_before(entry.name, since):
            continue
        if is_others and entry.name not in shells:
            continue
        with contextlib.suppress(OSError):
            if entry.is_file(follow_symlinks=False) and entry.stat().st_mtime >= since:
                found.append(str(path))
    return sorted(found)


def _walk(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The files of a folder and of those in it, the nearest first; not hidden ones, nor those of Python."""
    waiting, left = deque([""]), _MOST_ENTRIES
    while waiting and left > 0:
        place = waiting.popleft()
        with contextlib.suppress(OSError), os.scandir(folder / place) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    return
                if not entry.is_dir(follow_symlinks=False):
                    yield place, entry
                elif not entry.name.startswith(".") and not _is_of_python(entry.path):
                    waiting.append(os.path.join(place, entry.name))


def _is_of_python(path: str) -> bool:
    name = os.path.basename(path)
    return name in ("__pycache__", "node_modules") or os.path.exists(os.path.join(path, "pyvenv.cfg"))


def _locate(name: str, folder: Path, root: Path | None, since: float) -> Path:
    """Where a file was written: an absolute path leads out of a copy, which has it as it was before."""
    if not os.path.isabs(name):
        return folder / name
    copied = None if root is None else root / name.lstrip(os.sep)
    if copied is None or not copied.exists():
        return Path(name)
    return copied if copied.stat().st_mtime >= since or not os.path.exists(name) else Path(name)
