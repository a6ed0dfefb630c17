"""Which file a command line of Python starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from samerun.editing.edit import NoEdit

_WITH_VALUE = frozenset({"-W", "-X", "-Q", "--check-hash-based-pycs"})
_STARTERS = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})


def started(argv: Sequence[str], folder: Path, ran: Mapping[str, object]) -> str:
    """The path of the script that `argv` starts, as given there; `ran` holds the files that ran.

    `argv` begins with python, or with what ends in starting it (torchrun, bash, …). Raises NoEdit.
    """
    words = list(argv[1:]) if argv and _is_python(argv[0]) else None
    if words is None:
        return _among(ran, argv)
    while words:
        word = words.pop(0)
        if word == "-m" or (word.startswith("-m") and len(word) > 2):
            module = word[2:] or (words.pop(0) if words else "")
            return _among(ran, words) if module in _STARTERS else _module(module, folder, ran)
        if word == "-c" or word.startswith("-c"):
            return _among(ran, words) if "multiprocessing" in " ".join(words[:1]) else "<string>"
        if word == "-":
            return "<stdin>"
        if word in _WITH_VALUE and words:
            words.pop(0)
        elif not word.startswith("-"):
            return _script(word, folder, ran)
    return "<stdin>"


def _is_python(word: str) -> bool:
    name = PurePath(word).name
    return name.startswith(("python", "pypy")) and not name.endswith(".py")


def _module(name: str, folder: Path, ran: Mapping[str, object]) -> str:
    path = name.replace(".", "/")
    for choice in (f"{path}.py", f"{path}/__main__.py"):
        if (folder / choice).is_file() or choice in ran:
            return choice
        alike = [item for item in ran if item.endswith(f"/{choice}")]
        if len(alike) == 1:
            return alike[0]
    raise NoEdit(f"the program started, `python -m {name}`, is not in the working directory")


def _script(word: str, folder: Path, ran: Mapping[str, object]) -> str:
    path = (folder / word).resolve() if word.startswith("..") else folder / word
    if path.is_dir() and (path / "__main__.py").is_file():
        return f"{word}/__main__.py"
    normal = PurePath(word).as_posix().removeprefix("./")
    if not path.is_file() and normal not in ran:
        name = PurePath(word).name
        alike = [item for item in ran if PurePath(item).name == name]
        if len(alike) == 1:
            return alike[0]
    return normal


def _among(ran: Mapping[str, object], words: Sequence[str]) -> str:
    """The one file that ran which the words name, or else the only one that ran at all."""
    for word in words:
        name = PurePath(word).as_posix().removeprefix("./")
        named = [
            item for item in ran if item == name or item.endswith(f"/{name}") or name.endswith(f"/{item}")
        ]
        if word.endswith(".py") and named:
            return named[0]
    if len(ran) == 1:
        return next(iter(ran))
    if not ran:
        for word in words:
            if word.endswith(".py"):
                return word
    raise NoEdit("which file was started is not known")
