"""What stands in for launching.run.record is called with, as one flat value that tests can ask."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Plan


@contextlib.contextmanager
def prepare(request: LaunchRequest, plan: Plan, at: Workspace) -> Iterator[dict[str, Any]]:
    """The call, while its folder is there; `copy` is that folder where it is not the user's own."""
    with at.prepare(request.command) as (folder, root):
        yield {
            **vars(request),
            **vars(plan),
            "command": list(request.command),
            "store": at.store,
            "cwd": at.folder,
            "copy": None if root is None else folder,
            "scratch": at.fresh,
        }
