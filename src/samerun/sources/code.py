"""The program itself."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from samerun import callsite, notebook_cells
from samerun.digest import digest_bytes
from samerun.runs import notebook, source_lines
from samerun.runs.difference import Difference, Evidence, Side, Strength
from samerun.sources.evidence import settings_diff
from samerun.sources.source import Journal, Kind, Source

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 10  # digits of a commit
_LINE = 90  # characters: a longer command names no files


class Code(Source):
    """The script, its own modules, and the commit that they come from."""

    id = "code"
    summary = "the runs are not of the same code"
    advice = "git stash or commit the change, and compare runs of one commit: git diff COMMIT COMMIT"
    kind = Kind.PROVENANCE
    controllable = False
    hooks_into = notebook_cells.MODULE

    def observe(self, journal: Journal) -> None:
        """Tell the cells of a notebook apart."""
        notebook_cells.follow(sys.modules[self.hooks_into])

    def describe(self) -> Mapping[str, Any]:
        """The digest of each of the user's own files that is imported now, by its path."""
        modules = list(sys.modules.values())
        files = (getattr(module, "__dict__", {}).get("__file__") for module in modules)  # wakes no lazy one
        found = {}
        for path in sorted({path for path in files if isinstance(path, str) and callsite.is_user_file(path)}):
            try:
                with open(path, "rb") as file:
                    found[os.path.relpath(path, callsite.find_folder())] = digest_bytes(file.read()).hex()
            except (OSError, ValueError):
                continue
        if notebook_cells.MODULE in sys.modules and (ran := notebook_cells.find_notebook()) is not None:
            found[ran[0]] = notebook.digest_cells(ran[1])
        return found

    def recognise(self, difference: Difference) -> Evidence | None:
        """Other files, another commit, or other changes on top of it."""
        a, b = (side.settings.get(self.id, {}) for side in (difference.a, difference.b))
        files = [path for path in a if path in b and a[path] != b[path]]
        alone = [path for path in (*a, *b) if path not in a or path not in b]
        if files:
            return self._say(difference, f"{_list_some(files)} changed between the runs", files + alone)
        if a and b and len(alone) == len(a) + len(b):
            text = f"run A is of {_list_some(list(a))}, run B of {_list_some(list(b))}"
            return self._say(difference, text, alone)
        if a and b:
            return None  # the files that ran are the same, whatever the commit
        changed = settings_diff.describe_changed(
            difference.a.manifest.get("git"), difference.b.manifest.get("git")
        )
        return None if changed is None else self._say(difference, f"the repository changed: {changed}", [])

    def _say(self, difference: Difference, text: str, files: list[str]) -> Evidence:
        advice = _write_git_diff(difference, files)
        return Evidence(self.id, Strength.STRONG, text, advice=advice, of_other_program=True)


def _write_git_diff(difference: Difference, files: list[str]) -> str | None:
    """The command that shows the change; None where the runs are not of two commits as they are."""
    commits = [_find_clean_commit(side) for side in (difference.a, difference.b)]
    if None in commits or commits[0] == commits[1]:
        return None
    command = shlex.join(["git", "diff", *(str(commit)[:_SHORT] for commit in commits)])
    whole = f"{command} -- {shlex.join(files)}"
    return whole if files and len(whole) <= _LINE else command


def _find_clean_commit(side: Side) -> str | None:
    """The commit of a run, where its tracked files were those of the commit."""
    git = side.manifest.get("git")
    commit = git.get("commit") if isinstance(git, Mapping) and git.get("dirty") is False else None
    return commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else None


def _list_some(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def digests_of(side: Side) -> dict[str, str]:
    """The files that a run ran, each with its digest."""
    return _read_digests(side.settings)


def judge_site(site: str, settings: Mapping[str, Mapping[str, Any]], folder: str) -> source_lines.State:
    """Whether the file of a call site reads now, in `folder`, as when the run of these settings had it."""
    return source_lines.judge_file(site, folder, find_digest(site, settings))


def find_digest(site: str, settings: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The digest of the file of a call site in the run of these settings, None where it is not known."""
    at = source_lines.parse_site(site)
    return None if at is None else _read_digests(settings).get(notebook.strip_cell(at[0]))


def _read_digests(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    said = settings.get(Code.id, {})
    return {path: digest for path, digest in said.items() if isinstance(digest, str)}
