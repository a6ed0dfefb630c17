"""Whose code is calling: the user's own files, or a library's machinery.

A file is one of four things, decided once by its name:

- the user's: whatever is not one of the following (and the package started with `python -m`, wherever it is);
- walked through: samerun, installed packages (they may call for the user or be called back by them), what
  torch.compile wrote for the user's code, and the small standard modules that pass a call on (random, os, …);
- the end of the walk: the rest of the standard library (imports, threads, logging, …) and the kernel of a
  notebook (what a cell prints becomes its messages, with their times and ids), which act for themselves.
"""

# Plain strings throughout: this runs inside observed calls of pathlib, on hot paths, and keeps links.

from __future__ import annotations

import os
import re
import sys
import sysconfig
from types import FrameType
from typing import Final

from samerun.installed_folders import find_installed_folder, list_target_folders

# Whatever comes after the user's is walked through.
_END: Final = 0
_USER: Final = 1
_PASSED: Final = 2  # it passes the user's own call on
_LIBRARY: Final = 3
_COMPILER: Final = 4  # a library too

_PASSED_ON = (
    "uuid secrets random glob pathlib os shutil fnmatch tempfile datetime _pydatetime time concurrent "
    "copy contextlib functools zipfile gzip bz2 lzma tarfile shelve dbm fileinput wave json"
)
PASSTHROUGH = frozenset(_PASSED_ON.split())
# What `python -m` starts on behalf of somebody else: a launcher, a test runner, a worker of a pool.
_STARTERS = frozenset(
    ("torch", "accelerate", "deepspeed", "pytest", "samerun", "joblib", "loky", "ipykernel")
)
_KERNEL = frozenset(("ipykernel", "IPython", "jupyter_client"))
_COMPILER_FOLDERS = tuple(
    os.sep + os.path.join("torch", name, "") for name in ("_dynamo", "_inductor", "_functorch")
)
# Where torch's own functions pass that it shall not compile: torch.manual_seed, once the compiler is loaded.
_NO_COMPILING = tuple(os.path.join("_dynamo", name) for name in ("eval_frame.py", "external_utils.py"))
_SAMERUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_SOURCES = os.path.join(_SAMERUN, "sources", "")
_PATHS = sysconfig.get_paths()
_ROOTS = [_PATHS[key] for key in ("stdlib", "platstdlib")]
_STDLIB = tuple({os.path.join(path, "") for root in _ROOTS for path in (root, os.path.realpath(root))})
_SCRIPTS = os.path.join(_PATHS["scripts"], "")
_COPIED = re.compile(r"^.*/samerun-scratch-[^/]+(?=/)")  # the folders that stand for `/`: launching.scratch
# What cloudpickle calls the code of each function that it pickles by value, since its 3.1.3.
_DYNAMIC = "<dynamic-code>"
list_target_folders()  # before anything is observed: it opens files

_own: dict[str, bool] = {}
_folder: str | None = None
_root = ""  # what stands for `/` in a copy of the user's folder; empty: this is no copy
_kinds: dict[str, int] = {}
_names: dict[str, str] = {}
_skipped: dict[str, int] = {}  # lines that stand above a file's first, where it is shown


def find_caller(depth: int = 1) -> FrameType | None:
    """The frame that called the one that asks (1), or one further below.

    None where there is none: a thread began with the call, or one that is no Python thread made it, as those
    of torch.distributed.rpc do.
    """
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return None


def find_user_frame(depth: int = 1) -> FrameType | None:
    """The nearest frame of the user's own code, from `depth` frames above this one (1: the caller) on.

    None when the call came from the standard library's machinery or from no code of the user's at all.
    """
    frame: FrameType | None
    try:
        frame = sys._getframe(depth)
    except ValueError:  # as in find_caller
        return None
    kinds = _kinds
    while frame is not None:
        # As _find_kind does, which a call would double.
        if kinds.get(frame.f_globals.get("__file__", ""), _END) <= _USER:
            kind = _find_kind(frame)
            if kind <= _USER:
                return frame if kind == _USER else None
        frame = frame.f_back
    return None


def is_the_compilers(user: FrameType | None, depth: int = 1) -> bool:
    """Whether torch's compiler is at work between the frame `depth` above this one and the user's.

    What it reads of clocks, and draws of the system, for its own ends is no doing of the user's line.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and frame is not user:
        if _find_kind(frame) == _COMPILER:
            return True
        frame = frame.f_back
    return False


def is_called_directly() -> bool:
    """Whether the nearest frame outside samerun and the passed-on standard modules is the user's.

    So a library that the user called does not count, nor does what it calls.
    """
    return find_direct_frame(2) is not None


def find_direct_frame(depth: int = 1) -> FrameType | None:
    """The user's frame, from `depth` frames above this one on, that calls without a library, or None."""
    frame: FrameType | None = find_caller(depth)
    while frame is not None:
        kind = _find_kind(frame)
        if kind != _PASSED:
            return frame if kind == _USER else None
        frame = frame.f_back
    return None


def _find_kind(frame: FrameType) -> int:
    # The code of a frame is asked for last: each time tells all audit hooks.
    kind = _kinds.get(frame.f_globals.get("__file__", ""), _END)
    if kind > _USER:
        return kind
    known = _kinds.get(frame.f_code.co_filename)
    return _classify(frame) if known is None else known


def acts_for_itself(frame: FrameType) -> bool:
    """Whether a frame is one that ends the walk to the user's line: what it calls is not the user's call."""
    return _find_kind(frame) == _END


def is_samerun(frame: FrameType | None) -> bool:
    """Whether a frame is samerun acting for itself: recording, launching, …, not a source at work."""
    if frame is None:
        return False
    name = frame.f_code.co_filename
    own = _own.get(name)
    if own is None:
        own = _own[name] = name.startswith(_SAMERUN) and not name.startswith(_SOURCES)
    return own


def is_a_source(frame: FrameType | None) -> bool:
    """Whether a frame is a source of samerun's at work."""
    return frame is not None and frame.f_code.co_filename.startswith(_SOURCES)


def call_site(frame: FrameType) -> str:
    """`path.py:line`: relative to the folder of the run, or to site-packages for an installed program."""
    name = _find_file(frame)
    shown = _names.get(name)
    if shown is None:
        shown = _names[name] = _shorten_path(name)
    return f"{shown}:{frame.f_lineno + _skipped.get(name, 0)}"


def name_code(name: str, shown: str, skipped: int = 0) -> None:
    """From now on, code whose file is called `name` is the user's, and is shown as `shown`.

    `skipped`: how many lines of what is shown stand above the first line of that code.
    """
    _kinds[name] = _USER
    _names[name] = shown
    _skipped[name] = skipped


def is_library(frame: FrameType | None) -> bool:
    """Whether a frame is an installed package's code."""
    return frame is not None and _find_kind(frame) == _LIBRARY


def is_the_users(frame: FrameType) -> bool:
    """Whether a frame is the user's own code."""
    return _classify(frame) == _USER


def is_user_file(name: str) -> bool:
    """Whether a source file, by its absolute path, is the user's own."""
    return _classify_file(name) == _USER


def make_absolute(path: str) -> str:
    """An absolute path; as it is, where there is no working directory any more."""
    try:
        return os.path.abspath(path)
    except OSError:  # the folder was removed
        return path


def _find_file(frame: FrameType) -> str:
    """The file of its code; of a function that was pickled by value, that of the module it was written in."""
    name = frame.f_code.co_filename
    return str(frame.f_globals.get("__file__") or name) if name == _DYNAMIC else name


def _classify(frame: FrameType) -> int:
    name = _find_file(frame)
    if name in _kinds:
        return _kinds[name]
    # NetworkX calls what it generates "<class 'networkx.utils.decorators.argmap'> compilation 5"
    if name.startswith("<") and not name.endswith(".py"):
        if name.startswith("<frozen "):
            kind = _PASSED if name[8:-1] in PASSTHROUGH else _END
        elif name == "<string>":
            # `python -c`; other generated code (a dataclass's __init__) is walked through, to its caller
            top = frame.f_code.co_name == "<module>" or "-c" in sys.orig_argv[1:3]
            return _USER if top and frame.f_globals.get("__name__") == "__main__" else _PASSED
        else:
            kind = _USER if name.startswith(("<stdin>", "<ipython", "<doctest", _DYNAMIC)) else _PASSED
    else:
        kind = _classify_file(name)
        module = frame.f_globals.get("__file__")
        if kind > _USER and isinstance(module, str) and module not in _kinds:
            _kinds[module] = _classify_file(module)  # the next frame of it is known without its code
    _kinds[name] = kind
    return kind


def _classify_file(name: str) -> int:
    path = make_absolute(name)
    if path.startswith(_SAMERUN) or path.startswith(_SCRIPTS):
        return _PASSED
    package = _find_package(path)
    if package is not None:
        if package in _KERNEL:
            return _END
        started = _find_started_package()
        if started is not None and f"{os.sep}{started}{os.sep}" in path:
            return _USER
        return _COMPILER if _is_of_compiler(path) else _LIBRARY
    if path.startswith(_STDLIB):
        return _PASSED if _find_module_of(path) in PASSTHROUGH else _END
    if path.startswith(_find_torch_folder()):
        return _COMPILER if _is_of_compiler(path) else _LIBRARY
    return _PASSED if _is_compiled(path) else _USER


def _is_of_compiler(path: str) -> bool:
    return any(part in path for part in _COMPILER_FOLDERS) and not path.endswith(_NO_COMPILING)


def _find_package(path: str) -> str | None:
    """The top-level package or module of an installed file; None for a file that is not installed."""
    folder = find_installed_folder(path)
    return None if folder is None else path[len(folder) :].split(os.sep, 1)[0].removesuffix(".py")


def _find_module_of(path: str) -> str:
    """The top-level module of a file of the standard library: "pathlib" for pathlib/_local.py."""
    for root in _STDLIB:
        if path.startswith(root):
            return path[len(root) :].split(os.sep, 1)[0].removesuffix(".py")
    return ""


def _find_started_package() -> str | None:
    """The installed package that `python -m` started, unless it only starts others."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    name = getattr(spec, "name", "")
    if not name and "-m" in sys.orig_argv[:-1]:
        name = sys.orig_argv[sys.orig_argv.index("-m") + 1]
    package = str(name).split(".", 1)[0]
    return package if package and package not in _STARTERS else None


def _find_torch_folder() -> str:
    """Where torch is, for one built from source outside site-packages."""
    paths = getattr(sys.modules.get("torch"), "__path__", None)
    return os.path.join(make_absolute(paths[0]), "") if paths else "\0"


def _is_compiled(path: str) -> bool:
    """Whether torch.compile wrote a file, which lies in the folder that it keeps such files in."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    return f"{os.sep}torchinductor_" in path or bool(folder and path.startswith(os.path.join(folder, "")))


def _shorten_path(name: str) -> str:
    if name.startswith("<"):
        return name
    path = make_absolute(name)
    folder = find_installed_folder(path)
    return show_path(path) if folder is None else path[len(folder) :]


def show_path(path: str) -> str:
    """An absolute path, relative to the folder of the run where it lies in it.

    What was copied from outside of that folder is shown as the file that it is a copy of.
    """
    try:
        here = os.path.join(find_folder(), "")
    except OSError:  # the folder was removed
        return path
    return path[len(here) :] if path.startswith(here) else _COPIED.sub("", path)


def show_from(folder: str, root: str = "") -> None:
    """Show paths relative to this folder: a program may be started in another one, or change to it.

    `root` is what stands for `/` there, where it is a copy.
    """
    global _folder, _root
    _folder, _root = os.path.realpath(folder), root.rstrip("/")


def name_in_original(text: str) -> str:
    """A text with the paths of the copied folder in the place of those of the copy."""
    return text.replace(_root, "") if _root else text


def find_folder() -> str:
    """The folder that paths are relative to: the run's, or the working directory where no run is known.

    Raises OSError where that was removed.
    """
    return _folder or os.getcwd()
