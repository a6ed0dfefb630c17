"""A command in a copy of its folder must not write through links that lead out of it.

What was too large to be copied is linked to (launching.copies.mirror), to be read. Opening it to write is
refused as a read-only file refuses it: it is the user's, who did not ask for a run there. So are checkpoints
under other paths, where an experiment asks for that (`Plan.kept_since`): its runs stop and resume a training
anew, and would leave theirs in the place of a week's.
"""

from __future__ import annotations

import errno
import itertools
import os
import pkgutil
import stat
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from samerun.recording.at_work import AtWork
from samerun.wrapping import Around, Parameter, wrap_attribute


class _Writer(NamedTuple):
    """A callable that opens a file past Python, so that no audit event tells of it."""

    owner: str  # its module or class
    name: str
    path: Parameter
    mode: Parameter | None = None  # "r", or left out: it only reads


_PAST_PYTHON: Mapping[str, tuple[_Writer, ...]] = {  # module, when it is imported → what is called there
    "torch": (
        _Writer("torch.serialization._open_zipfile_writer_file", "__init__", Parameter("name", 1)),
        _Writer("torch.jit.RecursiveScriptModule", "save", Parameter("f", 1)),
    ),
    "safetensors": (_Writer("safetensors", "serialize_file", Parameter("filename", 1)),),
    "h5py": (_Writer("h5py.File", "__init__", Parameter("name", 1), Parameter("mode", 2)),),
}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS: Mapping[str, int] = {  # audit event → how many of its first arguments are paths that it changes
    "os.remove": 1,
    "os.rename": 2,
    "os.mkdir": 1,
    "os.rmdir": 1,
    "os.truncate": 1,
    "os.chmod": 1,
    "os.chown": 1,
    "os.utime": 1,
    "shutil.rmtree": 1,
}
_LAST = frozenset({"os.link", "os.symlink"})  # that make their second argument
_EVENTS = frozenset({"open", "os.chdir", *_PATHS, *_LAST})
_ON_ENTRIES = frozenset(
    {"os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink"}
)  # not what they lead to


_WORDS = ".pt .pth .ckpt .bin .safetensors .distcp .metadata .pkl .pickle .joblib .npy .npz .h5 .hdf5 .tar"
_CHECKPOINTS = frozenset(_WORDS.split())
_MOST_FILES = 10_000  # of a folder that is removed


class Seal:
    """Refuses to write through links that lead out of the copy at `root`.

    With `kept_since`, a Unix time, checkpoints outside of it that are older are refused too, and all in the
    folder that was copied, where a path that is no relative one leads: the user's next run would find them.
    """

    watched = frozenset(_PAST_PYTHON)  # the modules whose import `seal_module` is to hear of

    def __init__(self, root: str, folder: str, run: str, kept_since: float | None = None) -> None:
        self._kept_since = kept_since
        self._original = os.path.join(os.sep, os.path.relpath(folder, root), "")
        self._root = os.path.join(root, "")
        self._run = os.path.join(run, "")  # our own records
        self._entered: set[str] = set()  # folders outside that the program went to through a link
        self._enter(os.environ.get("PWD", ""))
        self._here = AtWork()

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Act on an audit event. Raises OSError."""
        if event == "open":
            path, mode, flags = arguments[:3]
            writes = any(letter in mode for letter in "wax+") if mode else bool(flags and flags & _WRITES)
            if writes and not self._here.busy:
                self.check(path, in_place=_opens_in_place(mode, flags))
        elif event in _PATHS:
            for path in arguments[: _PATHS[event]]:
                self.check(path, follow=event not in _ON_ENTRIES)
        elif event in _LAST:
            self.check(arguments[1], follow=False)
        elif event == "os.chdir":
            self._enter(arguments[0])

    def check(self, path: object, *, follow: bool = True, in_place: bool = False) -> None:
        """Raise OSError (EROFS) when `path` is the user's: reached through a link, or kept."""
        if self._here.busy or not isinstance(path, (str, bytes, os.PathLike)):
            return
        self._here.busy = True
        try:
            named = os.path.abspath(os.fsdecode(path))
            if in_place and self._is_outside(named):
                return  # data, as NumPy maps it: what is there stays there
            refused = self._find_refused(named, follow)
            kept = self._is_outside(named)
        except OSError:
            return
        finally:
            self._here.busy = False
        if refused is None:
            return
        said = f"{os.strerror(errno.EROFS)}: samerun runs this in a copy of the folder, and was to write to"
        if kept:
            said = (
                f"{os.strerror(errno.EROFS)}: samerun runs this in a copy of the folder, and leaves or "
                "writes over no checkpoint of yours: name it by a path relative to the working directory"
            )
        raise OSError(errno.EROFS, said, refused)

    def _is_outside(self, named: str) -> bool:
        return not any(named.startswith(folder) for folder in (self._root, *self._entered))

    def _find_refused(self, named: str, follow: bool) -> str | None:
        if self._is_outside(named):
            return named if self._kept_since is not None and self._is_kept(named, self._kept_since) else None
        if named.startswith(self._run):
            return None
        folder, name = os.path.split(named)
        real = os.path.realpath(named) if follow else os.path.join(os.path.realpath(folder), name)
        return None if real.startswith(self._root) or _is_device(real) else real

    def _is_kept(self, path: str, since: float) -> bool:
        """Whether it is a checkpoint from before or in the user's folder, or a folder that holds one."""
        if path.startswith(self._original) and not path.startswith(self._run) and _is_checkpoint(path):
            return True
        if os.path.isdir(path) and not os.path.islink(path):
            files = (os.path.join(at, name) for at, _, names in os.walk(path) for name in names)
            return any(_is_old_checkpoint(file, since) for file in itertools.islice(files, _MOST_FILES))
        return _is_old_checkpoint(path, since)

    def seal_module(self, module: str) -> None:
        """Refuse the same of a module that is imported now, for files that it opens past Python."""
        for writer in _PAST_PYTHON.get(module, ()):
            try:
                wrap_attribute(pkgutil.resolve_name(writer.owner), writer.name, self._watch(writer))
            except (AttributeError, ImportError):  # another version has none of this name
                continue

    def _watch(self, writer: _Writer) -> Around:
        def begin(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            mode = "w" if writer.mode is None else writer.mode.of(args, kwargs, "r")
            if mode != "r":
                self.check(writer.path.of(args, kwargs, None), in_place=mode == "r+")
            return original(*args, **kwargs)

        return begin

    def _enter(self, path: object) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        named = os.path.abspath(os.fsdecode(path))
        real = os.path.realpath(named)
        if named.startswith(self._root) and not os.path.join(real, "").startswith(self._root):
            self._entered.add(os.path.join(real, ""))


def seal(root: str, folder: str, run: str, kept_since: float | None = None) -> Seal:
    """From here on, refuse it in this process. An audit hook cannot be taken out again."""
    sealed = Seal(root, folder, run, kept_since)
    audit = sealed.audit

    # Called for every audited event: a function costs a third of a bound method there.
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _EVENTS:
            audit(event, arguments)

    sys.addaudithook(hook)
    return sealed


def _opens_in_place(mode: str | None, flags: int | None) -> bool:
    """Whether a file is opened to be written to as it is, neither emptied nor made longer."""
    if mode:
        return not any(letter in mode for letter in "wax")
    return not (flags or 0) & (os.O_TRUNC | os.O_APPEND)


def _is_checkpoint(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in _CHECKPOINTS


def _is_old_checkpoint(path: str, since: float) -> bool:
    try:
        status = os.stat(path)
    except OSError:
        return False
    return _is_checkpoint(path) and stat.S_ISREG(status.st_mode) and status.st_mtime < since


def _is_device(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
