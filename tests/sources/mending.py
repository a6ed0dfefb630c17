"""A script of the user's, hand-made evidence about it, and the script as its patch makes it."""

from __future__ import annotations

import textwrap
from pathlib import Path

from samerun.digest import digest_bytes
from samerun.explaining.cause import Cause
from samerun.explaining.patch import Patch, patch
from samerun.runs.difference import Difference, Row

from .differences import ONE, TWO, side

ARGV = ("python", "train.py")


def text_of(script: str) -> str:
    return textwrap.dedent(script).lstrip("\n")


def line_of(text: str, words: str, nth: int = 1) -> int:
    """The line (from 1) of the nth line that holds the words."""
    found = [number for number, line in enumerate(text.splitlines(), 1) if words in line]
    return found[nth - 1]


class Program:
    """The files of a user in a folder."""

    def __init__(
        self,
        folder: Path,
        script: str = "",
        files: dict[str, str] | None = None,
        argv: tuple[str, ...] = ARGV,
        steps: int | None = None,
    ) -> None:
        self.folder = folder
        self.argv = argv
        self.steps = steps
        self.files = {"train.py": text_of(script)} if script else {}
        self.files |= {path: text_of(text) for path, text in (files or {}).items()}
        for path, text in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text.encode())

    def at(self, words: str, path: str = "train.py", nth: int = 1) -> str:
        """The call site of the nth line that holds the words."""
        return f"{path}:{line_of(self.files[path], words, nth)}"

    def difference(self, *rows: Row | tuple[Row, Row], settings: dict | None = None, **columns) -> Difference:
        """A difference with this evidence: the same row in both runs, or a pair of rows."""
        code = {path: digest_bytes((self.folder / path).read_bytes()).hex() for path in self.files}
        both = [row if isinstance(row, tuple) else (row, row) for row in rows]
        kept = dict(command=list(self.argv), cwd=str(self.folder), steps=self.steps)
        known = {"code": code, **(settings or {})}
        sides = [side(*(pair[n] for pair in both), settings=known, **kept) for n in (0, 1)]
        given = {"step": 0, "phase": "setup", "what": "parameters", **columns}
        return Difference(**given, a=sides[0], b=sides[1])

    def patch(self, source: str, *rows: Row | tuple[Row, Row], site: str | None = None, **columns) -> Patch:
        """The patch for one cause."""
        difference = self.difference(*rows, **columns)
        made = patch([(difference, Cause(source, True, "", "", site))], self.folder)
        assert made is not None
        return made

    def mended(self, source: str, *rows: Row | tuple[Row, Row], path: str = "train.py", **columns) -> str:
        """The lines that the patch of one cause changes, as the diff has them: "-old" and "+new"."""
        made = self.patch(source, *rows, **columns)
        assert not made.cannot, made.cannot
        assert list(made.files) == [path]
        return changed(made.diff)

    def refused(self, source: str, *rows: Row | tuple[Row, Row], **columns) -> str:
        """Why there is no patch for one cause."""
        made = self.patch(source, *rows, **columns)
        assert made.diff == "" and not made.files, made.diff
        return made.cannot[source]


def changed(diff: str) -> str:
    """The lines of a diff that are not the same before and after."""
    lines = [line for line in diff.splitlines() if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    return "\n".join(lines)


def differing(what: str, name: str, site: str, **columns) -> tuple[Row, Row]:
    """A row that is another one in each run."""
    plain = dict(step=0, phase="setup", what=what, name=name, call_site=site)
    return Row(**plain, digest=ONE, **columns), Row(**plain, digest=TWO, **columns)


def equal(what: str, name: str, site: str | None = None, **columns) -> Row:
    """A row that is the same in both runs."""
    return Row(step=0, phase="setup", what=what, name=name, call_site=site, digest=ONE, **columns)
