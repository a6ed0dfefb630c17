"""A command as it stands in a lock: the same words on every machine."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from samerun.errors import UsageError
from samerun.runs.lock.content import Lock
from samerun.runs.secrets_in_text import HIDDEN, hide_secrets


def make_portable(command: Sequence[str], folder: Path) -> tuple[tuple[str, ...], bool]:
    """(its words, whether its program lies beside the Python that runs samerun).

    Raises UsageError for a path that leads out of `folder`, and for a secret.
    """
    if any(HIDDEN in word for word in hide_secrets(command)):
        raise UsageError(
            "The command holds a password, a token or a key, which a lock must not keep. Give it to the "
            "program by a variable or a file."
        )
    program, *rest = command
    name = os.path.basename(program)
    beside = os.path.isabs(program) and os.path.normpath(program) == _find_beside(name)
    on_path = os.path.isabs(program) and shutil.which(name) == program
    first = name if beside or on_path else _make_relative(program, folder)
    return (first, *(_make_relative(word, folder) for word in rest)), beside


def _find_beside(name: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(sys.executable), name))


def _make_relative(word: str, folder: Path) -> str:
    name, sign, value = word.rpartition("=")
    if not os.path.isabs(value):
        return word
    below = os.path.relpath(value, folder)
    if below.startswith(os.pardir):
        raise UsageError(
            f"The command names {value}, which is not below {folder}: no other machine has it. Give the path "
            "relative to this folder, or by a variable."
        )
    return f"{name}{sign}{below}"


def resolve_command(lock: Lock) -> tuple[str, ...]:
    """The command as it is started here."""
    program, *rest = lock.command
    if lock.beside:
        program = _find_beside(os.path.basename(program))
    return program, *rest
