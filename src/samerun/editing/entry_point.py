"""Which file a command line of Python starts."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from samerun.editing.edit import NoEdit
from samerun.editing.source_file import parse_python
from samerun.runs import notebook, untrusted
from samerun.runs.source_lines import MOST_BYTES

_WITH_VALUE = frozenset({"-W", "-X", "-Q", "--check-hash-based-pycs"})
_STARTERS = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})


def find_started(argv: Sequence[str], folder: Path, ran: Mapping[str, object]) -> str:
    """The path of the script that `argv` starts, as given there; `ran` holds the files that ran.

    `argv` begins with python, or with what ends in starting it (torchrun, bash, …). Raises NoEdit.
    """
    if argv and argv[0].endswith(notebook.SUFFIX):
        return PurePath(argv[0]).as_posix().removeprefix("./")
    words = list(argv[1:]) if argv and _is_python(argv[0]) else None
    if words is None:
        return _find_among(ran, argv)
    while words:
        word = words.pop(0)
        if word == "-m" or (word.startswith("-m") and len(word) > 2):
            module = word[2:] or (words.pop(0) if words else "")
            return (
                _find_among(ran, words) if module in _STARTERS else _find_module(module, words, folder, ran)
            )
        if word == "-c" or word.startswith("-c"):
            return _find_among(ran, words) if "multiprocessing" in " ".join(words[:1]) else "<string>"
        if word == "-":
            return "<stdin>"
        if word in _WITH_VALUE and words:
            words.pop(0)
        elif not word.startswith("-"):
            return _find_script(word, words, folder, ran)
    return "<stdin>"


def _is_python(word: str) -> bool:
    name = PurePath(word).name
    return name.startswith(("python", "pypy")) and not name.endswith(".py")


def _find_module(name: str, words: Sequence[str], folder: Path, ran: Mapping[str, object]) -> str:
    path = name.replace(".", "/")
    for choice in (f"{path}.py", f"{path}/__main__.py"):
        if (folder / choice).is_file() or choice in ran:
            return choice
        alike = [item for item in ran if item.endswith(f"/{choice}")]
        if len(alike) == 1:
            return alike[0]
    named = _find_named(words, ran)  # a profiler or the like, that starts the script
    if named is None and name.startswith("ipykernel"):
        notebooks = [item for item in ran if item.endswith(notebook.SUFFIX)]
        if len(notebooks) == 1:
            return notebooks[0]
        raise NoEdit("the code ran in a notebook whose file is not known: samerun diagnose -- NOTEBOOK.ipynb")
    if named is None:
        raise NoEdit(f"the program started, `python -m {name}`, is not in the working directory")
    return named


def _find_script(word: str, words: Sequence[str], folder: Path, ran: Mapping[str, object]) -> str:
    path = folder / word
    if path.is_dir() and (path / "__main__.py").is_file():
        return f"{word}/__main__.py"
    normal = PurePath(word).as_posix().removeprefix("./")
    if normal in ran:
        return normal
    if not path.is_file():
        alike = [item for item in ran if PurePath(item).name == PurePath(word).name]
        return alike[0] if len(alike) == 1 else normal
    if path.resolve().is_relative_to(folder.resolve()):
        return normal
    return _find_named(words, ran) or _find_imported(path, ran) or normal


def _find_imported(program: Path, ran: Mapping[str, object]) -> str | None:
    """The file that an installed program, as pip writes them, imports its `main` from."""
    try:
        tree = parse_python(untrusted.read_text(program, MOST_BYTES, follow=True))
    except (OSError, ValueError):
        return None
    for node in ast.walk(tree) if tree is not None else []:
        if isinstance(node, ast.ImportFrom) and node.module:
            path = node.module.replace(".", "/")
            for item in ran:
                if f"/{item}".endswith((f"/{path}.py", f"/{path}/__init__.py")):
                    return item
    return None


def _find_named(words: Sequence[str], ran: Mapping[str, object]) -> str | None:
    """The first file that ran among these words."""
    for word in words:
        name = PurePath(word).as_posix().removeprefix("./")
        for item in ran:
            if word.endswith(".py") and (
                item == name or f"/{item}".endswith(f"/{name}") or name.endswith(f"/{item}")
            ):
                return item
    return None


def _find_among(ran: Mapping[str, object], words: Sequence[str]) -> str:
    """The one file that ran which the words name, or else the only one that ran at all."""
    named = _find_named(words, ran)
    if named is not None:
        return named
    if len(ran) == 1:
        return next(iter(ran))
    script = next((word for word in words if word.endswith(".py")), None)
    if script is not None and not ran:
        return script
    raise NoEdit("which file was started is not known")
