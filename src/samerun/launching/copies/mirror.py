"""Copies a folder, and what links in it lead to, below another folder that stands for `/`."""

from __future__ import annotations

import itertools
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import samerun
from samerun.launching.copies.named_outside import list_named_above, list_named_by_argument
from samerun.launching.copies.project import REPOSITORIES, can_be_a_project, find_project

_NEVER = {".samerun"}
_MOST_BYTES = 256 << 20  # copied from behind links
_MOST_FILES = 10_000  # looked at behind links, and in a project
_MOST_LOOKS = 30_000  # files looked at in folders that turned out to hold too many
SCRIPT = (".py", ".sh")  # as their names end
_NAMES_FILES = (*SCRIPT, ".ipynb", ".yaml", ".yml", ".toml", ".json", ".cfg", ".ini")
_MOST_CODE = 16 << 20  # bytes that are read for the names of other files: a second or two
_OURS = Path(samerun.__file__).resolve().parent
_PROGRAM = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")  # how executables begin: Linux, macOS


class Mirror:
    """Copies `cwd`, a real path, to root/cwd.

    Where `cwd` is a part of a project, the project is there as well: scripts import and read what is above
    them. So is what their text, or the command, names above them (`../data`), and the code that PYTHONPATH
    names. A link that leads out of `cwd` leads to a copy of its target at root/target, made for it: a file,
    or a folder with what is in it. A script has the folder that it lies in with it: Python looks there for
    what it imports. What is there for a program to read alone, or too much, is linked to where it is:
    programs, virtual environments, a folder of more than 10,000 files, and the largest files once 256 MiB
    were copied.
    `.samerun` and special files in `cwd` are left out.
    """

    def __init__(self, root: Path, cwd: Path, command: Sequence[str] = ()) -> None:
        self._root = root
        self._cwd = cwd
        self._command = command
        self._bytes = _MOST_BYTES
        self._files = _MOST_FILES
        self._looks = _MOST_LOOKS
        self._whole: set[Path] = {cwd}  # folders copied with all that is in them
        self._shallow: set[Path] = set()

    def copy(self) -> Path:
        """The copy of `cwd`. Raises OSError and shutil.Error."""
        copy = self._place(self._cwd)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self._cwd, copy, symlinks=True, ignore=_list_left_out)
        for folder, folders, files in os.walk(copy):
            original = self._cwd / Path(folder).relative_to(copy)
            for path in original.iterdir():
                if path.is_dir() and not path.is_symlink() and is_environment(path):
                    (Path(folder) / path.name).symlink_to(path.resolve(), target_is_directory=True)
            for name in (*folders, *files):
                if Path(folder, name).is_symlink():
                    self._link(original / name)
        project = find_project(self._cwd)
        if project is not None:
            self._bring_around(project)
        for code in _list_search_path(self._cwd):
            if self._cwd.is_relative_to(code):
                self._bring_around(code)
            else:
                self._bring(code)
        self._bring_named(copy)
        return copy

    def _bring_named(self, copy: Path) -> None:
        """What the command and the code name above the folder that they run or lie in."""
        seen: set[Path] = set()
        for name, bases in self._list_named(copy):
            for found in {Path(os.path.normpath(base / name)) for base in bases} - seen:
                seen.add(found)
                self._bring_above(found)

    def _list_named(self, copy: Path) -> Iterator[tuple[str, tuple[Path, ...]]]:
        """Relative paths, and the folders that each may begin in."""
        for argument in self._command:
            yield from ((name, (self._cwd,)) for name in list_named_by_argument(argument))
        for path in _list_code(copy):
            bases = self._cwd, self._cwd / path.parent.relative_to(copy)
            yield from ((name, bases) for name in list_named_above(path.read_text(errors="replace")))

    def _bring_above(self, path: Path) -> None:
        """A file or folder above `cwd`, or the nearest folder that there is and that it will be made in."""
        if self._cwd.is_relative_to(path) and path != self._cwd and can_be_a_project(path):
            self._bring_around(path)  # a package that `cwd` is a part of
            return
        while not os.path.exists(path):
            path = path.parent
        place, common = self._place(path), Path(os.path.commonpath([path, self._cwd]))
        if common in (path, self._cwd, Path("/")) or os.path.lexists(place):
            return  # within one another, or they have nothing to do with each other
        real = Path(os.path.realpath(path))
        led_to = self._bring(real)
        if led_to == real and real.is_dir():
            self._link_entries(real, place)
        elif led_to != place:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(led_to)

    def _link_entries(self, folder: Path, place: Path) -> None:
        """Links to what is in a folder that is too much to copy: what is made there is made in the copy.

        Not in one with too many entries even for that.
        """
        with os.scandir(folder) as found:
            entries = list(itertools.islice(found, _MOST_LOOKS + 1))
        if len(entries) <= _MOST_LOOKS:
            place.mkdir(parents=True)
            for entry in entries:
                (place / entry.name).symlink_to(entry.path)

    def _place(self, path: Path) -> Path:
        """Where the copy of an absolute path is."""
        return self._root / path.relative_to("/")

    def _link(self, link: Path) -> None:
        """Make the copy of a link lead to the copy of what it leads to."""
        place, target = self._place(link), link.readlink()
        named = Path(os.path.normpath(link.parent / target))
        if named.is_relative_to(self._cwd):
            led_to = None if not target.is_absolute() else self._place(named)
        else:
            led_to = self._bring(Path(os.path.realpath(link)))
        if led_to is not None or not place.is_symlink():
            place.unlink(missing_ok=True)
            place.symlink_to(led_to or target)

    def _bring(self, path: Path) -> Path:
        """Where a link to `path`, a real path, leads to from the copy: its own copy, or the path itself."""
        place = self._place(path)
        if any(path.is_relative_to(folder) for folder in self._whole) or place.exists():
            return place
        if self._cwd.is_relative_to(path):
            return path
        try:
            if path.is_dir():
                copied = self._bring_folder(path)
            elif path.suffix in SCRIPT:
                self._bring_around(path.parent)
                copied = self._bring_file(path, always=True)
            else:
                copied = self._bring_file(path)
        except PermissionError:  # it may not be read
            copied = False
        return place if copied or place.exists() else path

    def _bring_folder(self, folder: Path) -> bool:
        """Copy a folder whole, unless it is too much."""
        if is_environment(folder) or not self._can_look_through(folder):
            return False
        self._whole.add(folder)
        self._fill(folder, whole=True)
        return True

    def _bring_around(self, folder: Path) -> None:
        """Copy what lies beside a script, or around `cwd`; what is hidden or too much is linked to.

        Not a repository itself: git writes to it.
        """
        if folder not in self._shallow:
            self._shallow.add(folder)
            self._fill(folder, whole=False)

    def _fill(self, folder: Path, *, whole: bool) -> None:
        entries = _sort_by_size(os.scandir(folder))
        place = self._place(folder)
        place.mkdir(parents=True, exist_ok=True)
        for path in entries:
            if path != self._cwd and path.name not in _NEVER:
                self._fill_in(path, whole)
        shutil.copystat(folder, place)

    def _fill_in(self, path: Path, whole: bool) -> None:
        copy = self._place(path)
        if path.is_symlink():
            self._link(path)
        elif self._cwd.is_relative_to(path):
            self._bring_around(path)
        elif not copy.exists():
            try:
                if not path.is_dir():
                    copied = self._bring_file(path, always=path.suffix in SCRIPT)
                elif whole and not is_environment(path):
                    self._fill(path, whole=True)
                    copied = True
                else:
                    hidden = path.name.startswith(".") and path.name not in REPOSITORIES
                    copied = not hidden and self._bring_folder(path)
            except PermissionError:  # it may not be read
                copied = False
            if not copied and not copy.exists():
                copy.symlink_to(path)

    def _bring_file(self, path: Path, *, always: bool = False) -> bool:
        """Copy a file; one that is not there yet will be made in the copy. False: it is to be linked to."""
        place = self._place(path)
        if not path.exists():
            if path.parent.is_dir():
                place.parent.mkdir(parents=True, exist_ok=True)
            return path.parent.is_dir()
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or _is_program(path, status.st_mode):
            return False
        self._files -= 1
        if not always and (status.st_size > self._bytes or self._files < 0):
            return False
        self._bytes -= status.st_size
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, place)
        return True

    def _can_look_through(self, folder: Path) -> bool:
        """Whether it holds no more files than may still be looked at."""
        count = 0
        for _, folders, files in os.walk(folder):
            count += len(folders) + len(files)
            if count > min(self._files, self._looks):
                self._looks -= count
                return False
        return True


def is_left_out(path: Path) -> bool:
    """Whether no copy is made of it: our own runs, a virtual environment, a socket, a pipe."""
    return path.name in _NEVER or _is_special(path)


def is_environment(path: Path) -> bool:
    """Whether a folder is a virtual environment, or one of conda's."""
    return (path / "pyvenv.cfg").exists() or (path / "conda-meta").is_dir()


def _list_left_out(folder: str, names: Sequence[str]) -> set[str]:
    return {name for name in names if is_left_out(Path(folder, name))}


def _list_search_path(cwd: Path) -> Iterator[Path]:
    """Folders outside of `cwd` that PYTHONPATH names: the user's code, so nothing installed and not ours."""
    for entry in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        folder = Path(os.path.realpath(cwd / entry))
        if folder.is_relative_to(cwd) or not folder.is_dir() or not can_be_a_project(folder):
            continue
        if next(folder.glob("*.dist-info"), None) is None and not _OURS.is_relative_to(folder):
            yield folder


def _list_code(folder: Path) -> Iterator[Path]:
    """The files in which others may be named, as far as there is time: code first, then by size."""
    found = (Path(at, name) for at, _, names in os.walk(folder) for name in names)
    kept = [path for path in found if path.suffix in _NAMES_FILES and path.is_file()]
    sizes = sorted((path.suffix not in SCRIPT, path.stat().st_size, path) for path in kept)
    read = itertools.accumulate(size for _, size, _ in sizes)
    yield from (path for total, (_, _, path) in zip(read, sizes, strict=True) if total <= _MOST_CODE)


def _is_special(path: Path) -> bool:
    """A virtual environment, or what is no file, folder or link (sockets, pipes)."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return is_environment(path)
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode))


def _is_program(path: Path, mode: int) -> bool:
    """Whether it is a compiled program: it finds what belongs to it by where it lies."""
    if not mode & stat.S_IXUSR:
        return False
    with open(path, "rb") as file:
        return file.read(4) in _PROGRAM


def _sort_by_size(entries: Iterable[os.DirEntry[str]]) -> list[Path]:
    """Files by size and then the rest, so that what is small is copied."""
    found = [(entry.is_dir(), entry.stat(follow_symlinks=False).st_size, entry.path) for entry in entries]
    return [Path(path) for _, _, path in sorted(found)]
