"""Files that the user's code opens, by Python's audit hook: what was read, with its content, and written."""

from __future__ import annotations

import linecache
import os
import re
import stat
import sys
import sysconfig
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from samerun import callsite
from samerun.answers import find_direct_site
from samerun.callsite import show_path
from samerun.installed_folders import find_installed_folder
from samerun.interruption import is_the_scripts
from samerun.recording.at_work import AtWork
from samerun.runs.schema import ENTROPY_FILES, MAPPED, RENAMED, STEADY

if TYPE_CHECKING:
    from samerun.recording.evidence_log import Journal

WHOLE = 32 << 20  # bytes of one file that are digested when it is opened
_BUDGET = 1 << 30  # bytes digested by one process; later files are known by size alone
_UNNAMED = ("", ":memory:")  # databases that are no files
_SYSTEM = ("/proc/", "/sys/")
_STEADY = ("/sys/", "/proc/cpuinfo", "/proc/version")
_PROCESS = re.compile(r"^/proc/(\d+|self)/")
_READ_ONLY = (1, 3)  # mmap.ACCESS_READ and ACCESS_COPY
_RENAMES = ("os.rename", "os.link", "os.symlink")
_SKIPPED = (".pyc", ".so")
_stat = os.stat  # as it is before a source observes it: what is read here is no evidence, and is read often


class Files:
    """Notes every file that the user's code opens."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seen: dict[str, tuple[int, int]] = {}
        self._budget = _BUDGET
        self._here = AtWork()
        paths = sysconfig.get_paths()
        self._elsewhere = tuple(
            {os.path.join(paths[key], "") for key in ("stdlib", "platstdlib", "purelib", "platlib")}
            | {*_SYSTEM, "/dev/fd/", "/dev/null", os.path.join(journal.plan.run, "")}
        )

    def opened(self, arguments: tuple[Any, ...]) -> None:
        """Note what the audit event "open" tells: a path or a descriptor, the mode, the flags."""
        if self._here.busy:
            return
        self._here.busy = True
        try:
            self._opened(arguments[0], arguments[1], arguments[2])
        except Exception as error:  # an unreadable file is the script's own affair
            if is_the_scripts(error):
                raise
        finally:
            self._here.busy = False

    def connected(self, arguments: tuple[Any, ...]) -> None:
        """Note a database of SQLite that is connected to: it is read, and may be written."""
        if isinstance(arguments[0], (str, bytes, os.PathLike)) and os.fsdecode(arguments[0]) not in _UNNAMED:
            self.opened((arguments[0], "r", os.O_RDONLY))
            self.opened((arguments[0], None, os.O_RDWR))

    def renamed(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file that gets another name, as one that is written whole does: that is written as well.

        So is one that gets a second name by a link: `latest.pt`, say.
        """
        if self._here.busy:
            return
        self._here.busy = True
        try:
            old, new = map(os.fsdecode, arguments[:2])
            if event == "os.symlink":  # it holds a path from where it stands
                old = os.path.join(os.path.dirname(new), old)
            old, new = map(callsite.make_absolute, (old, new))
            status = _find_status(old)
            if status is not None and stat.S_ISREG(status.st_mode) and not new.startswith(self._elsewhere):
                self._written(new, RENAMED, None, user_only=True)
        except Exception as error:  # of paths that are none: the script's own affair
            if is_the_scripts(error):
                raise
        finally:
            self._here.busy = False

    def redirected(self) -> None:
        """Note the files that a shell has sent the output of this process to."""
        for descriptor in (1, 2):
            try:
                is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
                path = os.readlink(f"/proc/self/fd/{descriptor}") if is_file else None
            except OSError:  # it is closed, or the system has no /proc
                continue
            status = None if path is None else _find_status(path)
            if path is not None and status is not None and not path.startswith(self._elsewhere):
                size = float(status.st_size)
                self._journal.note("written", "redirected", value=size, detail=show_path(path))

    def mapped(self, arguments: tuple[Any, ...]) -> None:
        """Note what the audit event "mmap.__new__" tells: a descriptor, a length, the access, an offset.

        A file that one of several processes maps to write to is memory that they may share. Not where
        multiprocessing does so, whose sharing is seen where a process is started.
        """
        if _is_within(callsite.find_caller(2), ("multiprocessing.", "samerun.")):
            return
        alive = _count_processes()
        if alive > 1 and arguments[0] >= 0 and arguments[2] not in _READ_ONLY:
            self._journal.note("threads", MAPPED, value=float(alive), user_only=True)

    def _opened(self, file: Any, mode: str | None, flags: int) -> None:
        if isinstance(file, int):
            return
        path = callsite.make_absolute(os.fsdecode(file))
        if path.startswith(self._elsewhere) or path.endswith(_SKIPPED) or find_installed_folder(path):
            if path.startswith(_SYSTEM) and not _is_within(callsite.find_caller(3), ("samerun.",)):
                self._note_system(path)
            return
        if path in ENTROPY_FILES:
            self._journal.note("entropy", path, user_only=True)
            return
        writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) if isinstance(flags, int) else False
        if mode is not None and any(letter in mode for letter in "wax+"):
            writes = True
        if writes and _reads_as_well(mode):
            self._note_content(path)
        if writes:
            before = _read_size(path) if _appends(mode, flags) else None
            self._written(path, "open", before, user_only=not _is_of_logging(callsite.find_caller(3)))
            return
        if _find_status(path) is not None:
            self._note_content(path)

    def _written(self, path: str, how: str, before: float | None, *, user_only: bool) -> None:
        if f"w{path}" not in self._seen:
            self._seen[f"w{path}"] = (0, 0)
            self._journal.note("written", how, value=before, detail=show_path(path), user_only=user_only)

    def _note_content(self, path: str) -> None:
        """What is in a file that is read now; nothing is in one that is yet to be made."""
        status = _find_status(path)
        if status is not None and not stat.S_ISREG(status.st_mode):
            return
        key = (0, 0) if status is None else (status.st_mtime_ns, status.st_size)
        if self._seen.get(path) == key:
            return
        self._seen[path] = key
        size = key[1]
        self._journal.note(
            "opened",
            "open",
            digest=None if status is None else self._content(path, size),
            value=float(size),
            detail=show_path(path),
            user_only=True,
        )

    def _note_system(self, path: str) -> None:
        """The user's own line reads what the system has now; what it is when it is read is not known."""
        if find_direct_site() is None:
            return
        steady = STEADY if path.startswith(_STEADY) else None
        self._journal.note("system", _PROCESS.sub("/proc/PID/", path), detail=steady, user_only=True)

    def _content(self, path: str, size: int) -> bytes | None:
        if size > WHOLE or size > self._budget:
            return None
        from samerun import digest

        self._budget -= size
        return digest.digest_bytes(Path(path).read_bytes(), "file")


def _is_within(frame: FrameType | None, modules: tuple[str, ...]) -> bool:
    """Whether the code of a frame is in one of these modules, each with its dot."""
    return frame is not None and frame.f_globals.get("__name__", "").startswith(modules)


def _is_of_logging(frame: FrameType | None) -> bool:
    """Whether the standard library's logging opens a file: the user's, though the user's line is not seen."""
    return frame is not None and frame.f_globals.get("__name__", "").startswith("logging")


def _reads_as_well(mode: str | None) -> bool:
    """Whether a file opened to be written is read too; of one that is added to, by the code around."""
    if mode is None or "+" not in mode or "w" in mode or "x" in mode:
        return False
    if "a" not in mode:
        return True
    frame = callsite.find_user_frame()
    lines = () if frame is None else linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    return any(".seek(" in line for line in lines)


def _appends(mode: str | None, flags: int) -> bool:
    """Whether what is in the file stays there; opened through `open`, it is known by the mode."""
    if mode is not None:
        return "a" in mode
    return isinstance(flags, int) and bool(flags & os.O_APPEND)


def _count_processes() -> int:
    """How many ranks there are; 2 in a process that multiprocessing has started."""
    ranks = os.environ.get("WORLD_SIZE", "")
    multiprocessing = sys.modules.get("multiprocessing")
    started = multiprocessing is not None and multiprocessing.parent_process() is not None
    return max(int(ranks) if ranks.isdecimal() else 1, 1 + started)


def _read_size(path: str) -> float:
    status = _find_status(path)
    return 0.0 if status is None else float(status.st_size)  # it is not there yet


def _find_status(path: str) -> os.stat_result | None:
    try:
        return _stat(path)
    except (OSError, ValueError):  # it is not there, or its name is none
        return None


def observe(journal: Journal) -> None:
    """From here on, note what the process opens. An audit hook cannot be taken out again."""
    files = Files(journal)
    files.redirected()
    opened, connected, mapped, renamed = files.opened, files.connected, files.mapped, files.renamed

    # Called for every audited event, and id() is one: a function costs a third of a bound method there.
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            opened(arguments)
        elif event == "sqlite3.connect":
            connected(arguments)
        elif event == "mmap.__new__":
            mapped(arguments)
        elif event in _RENAMES:
            renamed(event, arguments)

    sys.addaudithook(hook)
