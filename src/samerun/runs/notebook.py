"""A Jupyter notebook as the code in it: its code cells, counted as a kernel counts them when all are run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samerun.digest import digest_bytes
from samerun.runs import untrusted

SUFFIX = ".ipynb"
MOST_BYTES = 64 << 20  # outputs (images) are in the file as well
_CELL = re.compile(rf"(?P<path>.+\{SUFFIX})\[(?P<number>[0-9]{{1,6}})\]", re.DOTALL)


@dataclass(frozen=True)
class Cell:
    """A code cell that is not empty."""

    number: int  # from 1: its execution count, `[number]`, when the notebook is run from its top
    source: str
    index: int  # of it among all cells in the file


def name_cell(path: str, number: int) -> str:
    """What stands for the file in a call site: `train.ipynb[3]`."""
    return f"{path}[{number}]"


def parse_cell_name(name: str) -> tuple[str, int] | None:
    """The path and the number of `train.ipynb[3]`; None for another name."""
    found = _CELL.fullmatch(name)
    return None if found is None else (found["path"], int(found["number"]))


def strip_cell(name: str) -> str:
    """The notebook of a cell's name, and any other path as it is."""
    cell = parse_cell_name(name)
    return name if cell is None else cell[0]


def read_cells(path: Path, *, follow: bool = False) -> list[Cell]:
    """The code cells of a notebook. Raises OSError and ValueError, also for what is no notebook."""
    return list_cells(untrusted.parse_json(untrusted.read_text(path, MOST_BYTES, follow=follow)))


def list_cells(content: Any) -> list[Cell]:
    """The same, of a notebook's JSON. Raises ValueError for what is none (of format 4)."""
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ValueError("it is no notebook of format 4")
    found: list[Cell] = []
    for index, cell in enumerate(cells):
        source = join_source(cell.get("source"))
        if cell.get("cell_type") == "code" and source.strip():
            found.append(Cell(len(found) + 1, source, index))
    return found


def digest_cells(cells: Sequence[Cell]) -> str:
    """Stands for the code of a notebook, whatever its outputs; in hexadecimal."""
    return digest_bytes("\0".join(cell.source for cell in cells).encode("utf-8", "surrogatepass")).hex()


def join_source(source: Any) -> str:
    """A cell's text, which is kept as one string or as its lines. Raises ValueError for neither."""
    if isinstance(source, Sequence) and all(isinstance(line, str) for line in source):
        return "".join(source)
    raise ValueError("a cell has no source")
