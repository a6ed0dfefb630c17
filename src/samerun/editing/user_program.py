"""The user's program as it was when it ran: which files, which of them was started, and the lines of each."""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath

from samerun.digest import digest_bytes
from samerun.editing.edit import NoEdit
from samerun.editing.entry_point import find_started
from samerun.editing.notebook_file import NotebookFile
from samerun.editing.source_file import File
from samerun.runs import notebook, untrusted
from samerun.runs.source_lines import MOST_BYTES, parse_site

_GENERATED = re.compile(r"<.*>|.*[\\/]ipykernel_\d+[\\/].*")
_MOST_FOLDERS = 2000


class Code:
    """The files in the working directory `folder`.

    `argv` is the command line of the process (that of `python`, with its options); `digests` maps the path of
    each file that ran to the digest of what it held then, in hexadecimal, "" where that does not matter;
    `edited` are the files that were changed for that run alone, as they were in it.
    """

    def __init__(
        self,
        folder: Path,
        argv: tuple[str, ...],
        digests: Mapping[str, str],
        edited: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.argv = argv
        self._digests = digests
        self._edited = edited or {}
        self._files: dict[str, File] = {}
        self._found: dict[str, str] = {}

    # --- files ---------------------------------------------------------------------------------------

    def file(self, path: str) -> File:
        """The file that ran as `path`. Raises NoEdit when it is not there, or has changed since."""
        path = notebook.strip_cell(path)
        if _GENERATED.fullmatch(path):
            raise NoEdit(_NO_FILE.get(path, f"the code {path} has no file to edit"))
        where = self._found.get(path)
        if where is None:
            where = self._found[path] = self._look_for(path)
        if where not in self._files:
            self._files[where] = read_file(self.folder, where)
        return self._files[where]

    @cached_property
    def files(self) -> list[File]:
        """Every file that ran and can be edited, the script that was started first."""
        found: dict[str, File] = {}
        for path in (None, *self._digests):
            try:
                file = self.main if path is None else self.file(path)
                if file.tree:
                    found.setdefault(file.path, file)
            except (NoEdit, OSError):  # a name that no file system takes, say
                continue
        return list(found.values())

    @cached_property
    def main(self) -> File:
        """The script that was started. Raises NoEdit when there is no such file to edit."""
        return self.file(find_started(self.argv, self.folder, self._digests))

    @cached_property
    def packages(self) -> list[File]:
        """The `__init__.py` files that `python -m` imports before the script, outermost first."""
        if "-m" not in self.argv:
            return []
        parents = reversed(PurePosixPath(self.main.path).parents)
        paths = [str(parent / "__init__.py") for parent in parents]
        return [self.file(path) for path in paths if (self.folder / path).is_file()]

    def join_file(self, site: str | None) -> Code:
        """The same, with the file of a call site: it may be of a program that ran before, for its data."""
        found = parse_site(site)
        path = None if found is None else notebook.strip_cell(found[0])
        if path is None or path in self._digests:
            return self
        return Code(self.folder, self.argv, {**self._digests, path: ""}, self._edited)

    def _look_for(self, path: str) -> str:
        """The path below the folder of a file named relative to some folder of another time.

        A script may have been started from another folder (`cd src && python …`), or in a copy.
        """
        known = self._digests.get(path) or None
        parts = [part for part in PurePosixPath(path.replace(os.sep, "/")).parts if part not in ("..", ".")]
        suffixes = ["/".join(parts[begin:]) for begin in range(len(parts))]
        inside = [item for item in suffixes if not item.startswith("/") and (self.folder / item).is_file()]
        if os.path.isabs(path) and Path(path).is_file() and not Path(path).is_relative_to(self.folder):
            inside = [item for item in inside if known is not None and self._held(item, known)]
        for item in inside:
            if known is None or self._held(item, known):
                return item
        if known is not None and parts:
            below = (item for item in self._below(parts[-1]) if item.endswith(suffixes[-1]))
            alike = [item for item in below if self._held(item, known)]
            if len(alike) == 1:
                return alike[0]
        if inside:
            raise NoEdit(f"{path} has changed since the run, so its lines are no longer those that ran")
        raise NoEdit(f"{path} is not in the working directory, or is an installed package's")

    def _held(self, path: str, digest: str) -> bool:
        """Whether a file is what ran: as it is, or as it was edited for that run."""
        if path in self._edited and _digest(self._edited[path], path) == digest:
            return True
        try:
            if path.endswith(notebook.SUFFIX):
                return notebook.digest_cells(notebook.read_cells(self.folder / path, follow=True)) == digest
            data = untrusted.read_bytes(self.folder / path, MOST_BYTES, follow=True)
        except (OSError, ValueError):
            return False
        return digest_bytes(data).hex() == digest

    def _below(self, name: str) -> Iterator[str]:
        """The files of this name in the folder and below, but in hidden folders and environments."""
        for count, (here, folders, names) in enumerate(os.walk(self.folder)):
            if count > _MOST_FOLDERS:
                return
            folders[:] = sorted(
                item
                for item in folders
                if not item.startswith(".") and not Path(here, item, "pyvenv.cfg").exists()
            )
            if name in names:
                yield Path(here, name).relative_to(self.folder).as_posix()

    # --- lines ---------------------------------------------------------------------------------------

    def at(self, site: str | None) -> tuple[File, int]:
        """The file and line (from 1) of a call site `path.py:12`. Raises NoEdit."""
        found = parse_site(site)
        if found is None:
            raise NoEdit("no line of the script is known for it")
        path, line = found
        file = self.file(path)
        return file, self._line_now(file, path, line)

    def expressions(self, site: str | None) -> tuple[File, list[ast.expr]]:
        """The file of a call site, and the expressions that stand there. Raises NoEdit."""
        file, line = self.at(site)
        return file, file.expressions(line)

    def calls(self, site: str | None) -> tuple[File, list[ast.Call]]:
        """The file of a call site, and the calls that stand there. Raises NoEdit."""
        file, line = self.at(site)
        return file, file.calls(line)

    def _line_now(self, file: File, path: str, line: int) -> int:
        """The line of the file that was line `line` when it ran."""
        edited, known = self._edited.get(file.path), self._digests.get(notebook.strip_cell(path))
        if edited is None or known is None or _digest(edited, file.path) != known:
            return file.line_at(path, line)
        ran = parse_file(file.path, edited)
        line = ran.line_at(path, line)
        now, then = file.text.splitlines(), ran.text.splitlines()
        for tag, begin, end, start, stop in difflib.SequenceMatcher(None, then, now, False).get_opcodes():
            if begin <= line - 1 < end:
                if tag == "equal":
                    return start + line - begin
                return min(start + line - begin, max(stop, 1))
        return line


def read_file(folder: Path, path: str) -> File:
    """A file of Python or a notebook (or, by a cell's name, the whole of it). Raises NoEdit."""
    path = notebook.strip_cell(path)
    if path.endswith(notebook.SUFFIX):
        return NotebookFile.read(folder, path)
    return File.read(folder, path)


def parse_file(path: str, text: str) -> File:
    """The same, of its text on disk. Raises NoEdit."""
    if path.endswith(notebook.SUFFIX):
        return NotebookFile.parse(path, text)
    return File(path, text, "utf-8")


def _digest(text: str, path: str) -> str:
    if path.endswith(notebook.SUFFIX):
        return notebook.digest_cells(notebook.list_cells(untrusted.parse_json(text)))
    return digest_bytes(encode_text(text)).hex()


def encode_text(text: str) -> bytes:
    """A file's text as the bytes that Python reads as that text: what its own first lines say, else UTF-8."""
    for line in text.removeprefix("\ufeff").splitlines()[:2]:
        found = _COOKIE.match(line)
        if found:
            return text.encode(found[1])
        if line.strip() and not line.lstrip().startswith("#"):
            break
    return text.encode("utf-8", "surrogatepass")


_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_NO_FILE = {
    "<stdin>": "the script came from standard input, so there is no file to edit: put it in a file",
    "<string>": "the code was given as text (python -c, exec), so there is no file to edit: put it in a file",
}
