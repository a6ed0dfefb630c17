"""The first line of a file that is not as it was locked, by the versions that git has of it."""

from __future__ import annotations

import difflib
import itertools
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from samerun.digest import digest_bytes
from samerun.experiments.verify.changed import Changed
from samerun.runs import untrusted
from samerun.runs.lock.content import OUTSIDE, Lock
from samerun.runs.provenance import run_git

_MOST_BYTES = 4 << 20
_MOST_COMMITS = 50
_SHOWN, _BEFORE = 100, 40  # characters of a line, and those before the first that differs


def add_lines(lock: Lock, folder: Path, changed: Sequence[Changed]) -> tuple[Changed, ...]:
    """With the first changed line of each file of code below `folder`, where git has the locked version."""
    found = []
    for item in changed:
        digest = lock.code.files.get(item.name) if item.kind == "code" else None
        line = None if digest is None else find_changed_line(folder, item.name, digest, lock.code.commit)
        if line is not None:
            site, _, text = line.partition(": ")
            item = replace(item, text=text, call_site=site)
        found.append(item)
    return tuple(found)


def find_changed_line(folder: Path, name: str, digest: str, commit: str | None, key: str = "") -> str | None:
    """`train.py:12: lr = 0.1 → lr = 0.2`; None where no version of `digest` is found, or the file is gone.

    `key` is that of the digest: "file" for inputs, which may be no text; then it is None too. The version may
    be that of the locked commit, or of another one of the last _MOST_COMMITS that changed it.
    """
    if name.startswith(OUTSIDE) or name.endswith("/"):
        return None
    try:
        now = untrusted.read_bytes(folder / name, _MOST_BYTES)
    except OSError:
        return None
    before = None if b"\0" in now else find_version(folder, name, digest, commit, key)
    if before is None:
        return None
    return describe_first_change(name, before.decode("utf-8", "replace"), now.decode("utf-8", "replace"))


def describe_first_change(name: str, before: str, now: str) -> str | None:
    """The place and both texts of the first line that differs, and how many other places do.

    None where all are equal. Empty lines are no place of their own.
    """
    one, other = before.splitlines(), now.splitlines()
    places = [
        (_find_text(one, a, b)[0], *_find_text(other, c, d))
        for kind, a, b, c, d in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if kind != "equal"
    ]
    if not places:
        return None
    seen = [place for place in places if place[0] or place[1]]
    gone, come, at = (seen or places)[0]
    site = f"{name}:{min(at, max(len(other) - 1, 0)) + 1}"
    if not seen:
        return f"{site}: empty lines alone"
    texts = _shorten(gone or "nothing", come or "nothing")
    more = len(seen) - 1
    count = f", and {more} more {'place' if more == 1 else 'places'}" if more else ""
    return f"{site}: {' → '.join(texts)}{count}"


def _find_text(lines: Sequence[str], start: int, end: int) -> tuple[str, int]:
    """The first line from `start` to `end` that is not empty, and its place."""
    texts = (line.strip() for line in lines[start:end])
    return next(((text, at) for at, text in enumerate(texts, start) if text), ("", start))


def _shorten(one: str, other: str) -> tuple[str, str]:
    """Both lines, of long ones the part around the first character that differs."""
    if max(len(one), len(other)) <= _SHOWN:
        return one, other
    alike = sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
    start = max(alike - _BEFORE, 0)
    lead = "…" if start else ""
    cut = (
        f"{lead}{text[start : start + _SHOWN]}{'…' * (len(text) > start + _SHOWN)}" for text in (one, other)
    )
    return next(cut), next(cut)


def find_version(folder: Path, name: str, digest: str, commit: str | None, key: str = "") -> bytes | None:
    """The file as it was locked, where git has it; None where it has not, or git is not there."""
    try:
        listed = run_git(folder, "log", f"-{_MOST_COMMITS}", "--format=%H", "--", f"./{name}")
        commits = dict.fromkeys([*([commit] if commit else []), *listed.decode().split()])
        for known in commits:
            try:
                found = run_git(folder, "show", f"{known}:./{name}")
            except subprocess.CalledProcessError:
                continue
            if digest_bytes(found, key).hex() == digest:
                return found
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        pass
    return None
