"""A command that is a notebook: `samerun check -- train.ipynb`. Its cells are run in a kernel, from the top.

The kernel is recorded as any training is. The program that sends it the cells (`execute_notebook.py`) is not:
it runs apart from what samerun puts on PYTHONPATH.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from samerun.errors import UsageError
from samerun.runs import notebook
from samerun.runs.store import ROOT

_PROGRAM = Path(__file__).with_name("execute_notebook.py")
_NEEDED = ("nbclient", "ipykernel")


def is_notebook(command: Sequence[str]) -> bool:
    """Whether a command is a notebook, rather than a program that is given one."""
    return bool(command) and command[0].endswith(notebook.SUFFIX)


def build_command(command: Sequence[str]) -> list[str]:
    """What runs the notebook that a command is, in the folder that it is in.

    One in the store (cells that `%%samerun` copied) runs in the folder that the store is in.
    """
    folder = Path(command[0]).parent
    return [sys.executable, "-I", str(_PROGRAM), command[0], str(folder.parent if folder == ROOT else folder)]


def check_notebook(command: Sequence[str], cwd: Path) -> None:
    """Return if the notebook can be run. Raises UsageError."""
    path = cwd / command[0]
    try:
        cells = notebook.read_cells(path, follow=True)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"The notebook {command[0]!r} cannot be read: {said}.") from None
    if not cells:
        raise UsageError(f"The notebook {command[0]!r} has no code in it.")
    if len(command) > 1:
        raise UsageError(
            f"A notebook takes no arguments; {' '.join(command[1:])!r} was given to {command[0]}."
        )
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"To run a notebook, {' and '.join(missing)} must be installed beside samerun: "
            "pip install nbclient ipykernel"
        )
