"""The fixture `samerun_lock`: each test's locks lie beside its file, and --samerun-update writes them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

FOLDER = "__samerun__"
_UPDATED = "samerun_updated"


def make_assert(item: pytest.Item) -> Callable[..., None]:
    """`samerun.testing.assert_locked` with the file of this test, and its option to update."""
    from samerun.testing import assert_locked

    update = bool(item.config.getoption("samerun_update"))

    def samerun_lock(fn: Callable[[], Any], *, name: str = "", **asked: Any) -> None:
        __tracebackhide__ = True
        path = name_lock(item, name)
        was_there = path.exists()
        moved = assert_locked(fn, path, update=update, **asked)
        if update:
            said = f"moved: {', '.join(moved)}" if moved else "no digest moved" if was_there else "new"
            item.user_properties.append((_UPDATED, f"{item.nodeid}: {said}"))

    return samerun_lock


def name_lock(item: pytest.Item, name: str = "") -> Path:
    """The file of one lock: of the module, the test with its parameters, and `name`."""
    words = item.nodeid.partition("::")[2] or item.name
    words = f"{words}-{name}" if name else words
    plain = re.sub(r"[^\w.-]+", "_", words)[:80]
    if plain != words:  # two tests must not have one file
        plain = f"{plain}-{hashlib.sha256(words.encode()).hexdigest()[:8]}"
    return item.path.parent / FOLDER / f"{item.path.stem}.{plain}.lock"


def list_updates(reports: Iterable[Any]) -> list[str]:
    """What was written, a line for each lock."""
    found = [
        value
        for report in reports
        if getattr(report, "when", None) == "call"
        for key, value in report.user_properties
        if key == _UPDATED
    ]
    return list(dict.fromkeys(found))
