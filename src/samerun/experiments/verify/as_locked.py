"""The user's code and variables as they were locked, for runs that show whether their change is the cause."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from samerun.errors import UsageError
from samerun.experiments.lock.environment_class import names_place
from samerun.experiments.verify.changed import Changed
from samerun.experiments.verify.changed_line import find_version
from samerun.launching.copies.working_copy import make_scratch_copy
from samerun.runs.lock.content import Lock
from samerun.runs.provenance import select_environment


def find_locked_code(
    lock: Lock, folder: Path, changed: Sequence[Changed]
) -> tuple[dict[str, bytes], list[str]]:
    """The locked version of each file of code that is another one or gone, and those that git has not."""
    found: dict[str, bytes] = {}
    lacking: list[str] = []
    for item in changed:
        digest = lock.code.files.get(item.name)
        if item.kind != "code" or digest is None:
            continue
        version = find_version(folder, item.name, digest, lock.code.commit)
        if version is None:
            lacking.append(item.name)
        else:
            found[item.name] = version
    return found, lacking


@contextlib.contextmanager
def make_locked_copy(
    folder: Path, files: Mapping[str, bytes], command: Sequence[str]
) -> Iterator[Path | None]:
    """A copy of `folder` to run `command` in, with these files, removed at the end.

    None where it cannot be made, or one of the files would be written through a link.
    """
    with contextlib.ExitStack() as stack:
        try:
            copy = stack.enter_context(make_scratch_copy(folder, command))
            done = all([_put(copy, copy / name, content) for name, content in files.items()])
        except (UsageError, OSError):
            done = False
        yield copy if done else None


def _put(copy: Path, path: Path, content: bytes) -> bool:
    """Whether the file was written. It may be named by a stranger, and a folder of the copy may be a link."""
    existing = next(parent for parent in path.parents if parent.exists())
    if not existing.resolve().is_relative_to(copy.resolve()):
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return True


@contextlib.contextmanager
def set_as_locked(variables: Mapping[str, str], names: Sequence[str]) -> Iterator[None]:
    """These variables as locked, or not set, in all that is started; no other is touched."""
    before = {name: os.environ.get(name) for name in names}
    _set({name: variables.get(name) for name in names})
    try:
        yield
    finally:
        _set(before)


def may_set(name: str, variables: Mapping[str, str]) -> bool:
    """Whether a lock, which may be a stranger's, may decide it: it moves numbers, and is no path."""
    value = variables.get(name, "")
    return bool(select_environment({name: value})) and not names_place(value)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
