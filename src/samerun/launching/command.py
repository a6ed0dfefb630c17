"""Checks a command before anything is created for it, and says what was probably meant."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from samerun.errors import CommandNotFound, UsageError
from samerun.launching.notebook import check_notebook, is_notebook

_PYTHON = re.compile(r"python[\d.]*$")
_SETS_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


def check_command(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> None:
    """Return if `command` can be started in `cwd` with the PATH of `environ`.

    Raises UsageError for an empty command or a missing folder, CommandNotFound for the rest.
    """
    if not command:
        raise UsageError(
            "No command was given. Put it after --, for example: samerun check -- python train.py"
        )
    if not cwd.is_dir():
        raise UsageError(f"The working directory {cwd} does not exist. Create it, or start elsewhere.")
    name = command[0]
    if _SETS_VARIABLE.match(name):
        raise CommandNotFound(
            f"{name!r} sets a variable, as a shell does; did you mean: env {shlex.join(command)}"
        )
    if is_notebook(command):
        check_notebook(command, cwd)
    elif os.sep in name:
        _check_path(command, cwd / name, cwd)
    elif shutil.which(name, path=environ.get("PATH")) is None:
        hint = _hint(command, cwd, environ)
        raise CommandNotFound(f"The command {name!r} was not found on PATH{_suggest_hint(hint)}")


def is_python(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> bool:
    """Whether the command starts a python at once: by name, or by the first line of a script."""
    if is_notebook(command):
        return True
    found = shutil.which(cwd / command[0] if os.sep in command[0] else command[0], path=environ.get("PATH"))
    if found is None:
        return False
    if _PYTHON.match(os.path.basename(found)):
        return True
    try:
        with open(found, "rb") as file:
            first = file.readline(256)
    except OSError:
        return False
    words = first[2:].split() if first.startswith(b"#!") else []
    return any(_PYTHON.match(os.path.basename(os.fsdecode(word))) for word in words)


def cannot_start(command: Sequence[str], error: OSError) -> CommandNotFound:
    """The error for a command that the system refused to start."""
    hint = f"sh {' '.join(command)}" if error.errno == 8 else None  # ENOEXEC: a script with no #! line
    return CommandNotFound(
        f"The command {command[0]!r} cannot be started: {error.strerror}{_suggest_hint(hint)}"
    )


def _check_path(command: Sequence[str], path: Path, cwd: Path) -> None:
    name = command[0]
    if not path.exists():
        near = difflib.get_close_matches(path.name, _list_names(path.parent), n=1, cutoff=0.7)
        hint = " ".join((str(Path(name).parent / near[0]), *command[1:])) if near else None
        raise CommandNotFound(f"The command {name!r} does not exist in {cwd}{_suggest_hint(hint)}")
    if path.is_dir():
        raise CommandNotFound(f"The command {name!r} is a folder. Name the program or script in it.")
    if not os.access(path, os.X_OK):
        raise CommandNotFound(
            f"The command {name!r} is not executable{_suggest_hint(_name_interpreter(command))}"
        )


def _hint(command: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> str | None:
    name = command[0]
    rest = command[1:]
    if " " in name and shutil.which(name.split()[0], path=environ.get("PATH")):
        return " ".join((name, *rest)) + "   (without quotes around it)"
    if (cwd / name).is_file():
        return (
            " ".join((f"./{name}", *rest)) if os.access(cwd / name, os.X_OK) else _name_interpreter(command)
        )
    if name.endswith(".py"):
        near = difflib.get_close_matches(name, _list_names(cwd), n=1, cutoff=0.7)
        return _name_interpreter((near[0], *rest)) if near else None
    folders = [Path(entry) for entry in environ.get("PATH", os.defpath).split(os.pathsep) if entry]
    near = difflib.get_close_matches(
        name, sorted({found for folder in folders for found in _list_names(folder)}), n=1, cutoff=0.7
    )
    return " ".join((near[0], *rest)) if near else None


def _name_interpreter(command: Sequence[str]) -> str | None:
    """The command given to the interpreter that its first word needs."""
    interpreter = {".py": "python", ".sh": "sh"}.get(Path(command[0]).suffix)
    return None if interpreter is None else " ".join((interpreter, *command))


def _suggest_hint(hint: str | None) -> str:
    return ". Check its spelling and that it is installed." if hint is None else f"; did you mean: {hint}"


def _list_names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
