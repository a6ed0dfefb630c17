"""Inside a notebook, after `%load_ext samerun`: `%samerun seed 42`, `%samerun report`, `%%samerun`."""

from __future__ import annotations

import html
import json
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from samerun.errors import UsageError
from samerun.runs.store import ROOT

_USAGE = (
    "%samerun seed 42         seeds every generator of this kernel\n"
    "%samerun report last     shows the report of a run here\n"
    "%%samerun -n 3 --steps 5 above a cell: runs the cells so far and this one in fresh "
    "kernels, and compares (options: those of `samerun check`)"
)
_OURS = re.compile(r"\s*%%?\s*(samerun\b|(re)?load_ext\s+samerun\b)")
_COPIED = "cells.ipynb"  # in the store: it runs in the folder that the store is in


def load_ipython_extension(shell: Any) -> None:
    """Register `%samerun` and `%%samerun`."""

    def samerun(line: str, cell: str | None = None) -> None:
        try:
            if cell is None:
                _do(shell, shlex.split(line))
            else:
                _check(list_cells(shell.history_manager.input_hist_raw, cell), shlex.split(line), print)
        except (UsageError, ValueError) as error:
            print(f"samerun: {error}\n{_USAGE}" if line or cell is not None else _USAGE)

    shell.register_magic_function(samerun, "line_cell", "samerun")


def list_cells(inputs: Sequence[str], cell: str) -> list[str]:
    """The cells of this kernel so far and `cell`, each at the place of its execution count, from 1.

    `inputs` are those that were run, with an empty one first, as IPython keeps them; the last is
    the cell that is running. Where there is nothing to run again (our own magics) is `pass`: no count moves.
    """
    before = [text if text.strip() and not _is_ours(text) else "pass" for text in inputs[1:-1]]
    return [*before, f"# {inputs[-1].splitlines()[0] if inputs[-1] else ''}\n{cell}"]


def _is_ours(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].startswith("%%samerun") or all(map(_OURS.match, lines))


def _do(shell: Any, words: Sequence[str]) -> None:
    if len(words) == 2 and words[0] == "seed":
        from samerun.controls import seed_everything

        if not words[1].isdecimal():
            raise UsageError(f"{words[1]!r} is not a seed; give an integer such as 42")
        with warnings.catch_warnings(record=True) as said:
            seed_everything(int(words[1]))
        for warning in said:  # with the file and line of a package it would look like a fault
            print(f"samerun: {warning.message}")
    elif words[:1] == ["report"]:
        _show_report(words[1:] or ["last"])
    else:
        raise UsageError(f"{' '.join(words)!r} is not known here")


def _check(cells: Sequence[str], options: Sequence[str], say: Callable[[str], None]) -> None:
    """Run the cells by `samerun check`, and pass on what it prints."""
    code: list[dict[str, Any]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": text}
        for text in cells
    ]
    ROOT.mkdir(exist_ok=True)
    path = ROOT / _COPIED
    path.write_text(
        json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}), encoding="utf-8"
    )
    command = [sys.executable, "-m", "samerun", "check", *options, "--", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            say(line.rstrip("\n"))


def _show_report(names: Sequence[str]) -> None:
    """Show the report of a run, or of two, in a frame below the cell."""
    import tempfile

    from IPython.display import display

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        command = [sys.executable, "-m", "samerun", "report", *names, "-o", str(path)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if not path.exists():
            raise UsageError((made.stderr or made.stdout).strip().removeprefix("samerun: "))
        page = html.escape(path.read_text(encoding="utf-8"), quote=True)
    frame = f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="600"></iframe>'
    # As data: IPython warns of each `HTML` that is a frame, and its own frames hold addresses alone.
    display({"text/html": frame, "text/plain": f"report of {' '.join(names)}"}, raw=True)  # type: ignore[no-untyped-call]
