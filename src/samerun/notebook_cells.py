"""Inside the kernel of a notebook: which cell is running, by the name of the notebook's file.

IPython calls the code of a cell by a name that has the number of the process in it. Its place is shown as
`train.ipynb[3]:2`: line 2 of the cell whose execution count is 3 when the notebook is run from its top.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from samerun import callsite, wrapping
from samerun.runs import notebook
from samerun.runs.notebook import Cell
from samerun.wrapping import Parameter

MODULE = "IPython.core.compilerop"
_TIMED = "<timed exec>"  # what %%time calls the code below it
_NUMBER, _RAW = Parameter("number", 2), Parameter("raw_code", 3)  # of CachingCompiler.cache


def follow(module: Any) -> None:
    """Name the code of each cell as it is compiled, from the import of IPython's compiler on."""

    def cache(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = original(*args, **kwargs)
        number, source = _NUMBER.of(args, kwargs, 0), _RAW.of(args, kwargs, None)
        if isinstance(name, str) and isinstance(number, int) and isinstance(source, str):
            _name(name, number, source)
        return name

    wrapping.wrap_attribute(module.CachingCompiler, "cache", cache)


@functools.cache
def find_notebook() -> tuple[str, tuple[Cell, ...]] | None:
    """The notebook that this process runs, relative to the folder of the run, and its cells by now.

    It stands in the command line of the program that started the kernel. None where it does not, or cannot
    be read.
    """
    import psutil

    try:
        parent = psutil.Process(os.getppid())
        word = next((word for word in parent.cmdline() if word.endswith(notebook.SUFFIX)), None)
        if word is None:
            return None
        path = Path(parent.cwd(), word)
        return callsite.show_path(str(path)), tuple(notebook.read_cells(path, follow=True))
    except (psutil.Error, OSError, ValueError):
        return None


def _name(name: str, number: int, source: str) -> None:
    found = find_notebook()
    for cell in () if found is None else found[1]:
        if cell.number == number and cell.source.endswith(source):
            shown = notebook.name_cell(found[0], number) if found else ""
            skipped = len(cell.source[: len(cell.source) - len(source)].splitlines())
            callsite.name_code(name, shown, skipped)
            callsite.name_code(_TIMED, shown, 1)
            return
    callsite.name_code(name, f"In[{number}]")
