"""The lines of code that a call site names: code alone, and only where the run's code may be."""

from __future__ import annotations

import functools
import re
import sysconfig
from pathlib import Path
from typing import Literal

from samerun.digest import digest_bytes
from samerun.installed_folders import list_target_folders
from samerun.runs import notebook, untrusted

_SITE = re.compile(r"(?P<path>[^\0]{1,4096}):(?P<line>[0-9]{1,9})", re.ASCII | re.DOTALL)
_CODE = {".py", ".pyw"}
OF_SHELLS = (".sh", ".bash", ".zsh", ".ksh", ".slurm", ".sbatch")
_MAKEFILES = {"Makefile", "makefile", "GNUmakefile"}
_STARTS_SHELL = re.compile(r"#!.*\b(ba|z|k|da)?sh\b")
MOST_BYTES = 4 << 20  # beyond that a file is data
State = Literal["same", "changed", "gone", "unknown"]


def parse_site(site: str | None) -> tuple[str, int] | None:
    """`path.py:12` as its path and line; None for what is no call site."""
    found = _SITE.fullmatch(site or "")
    return None if found is None else (found["path"], int(found["line"]))


def read_source(site: str | None, folder: str) -> tuple[list[str], int] | None:
    """(the lines of the file of a call site as it reads now, the number of its line), None when it is gone.

    A run may come from a stranger, and so may its call sites: only code is read, and only what lies, once
    every link is followed, in the working directory `folder`, in its repository, or among installed packages.
    """
    at = parse_site(site)
    if at is None or not folder:
        return None
    name, cell = notebook.parse_cell_name(at[0]) or (at[0], None)
    try:
        path = _find_file(name, folder)
        if path is None:
            return None
        lines = _read_lines(path, cell)
    except (OSError, RuntimeError, ValueError):  # no such file; links in a circle; a null character
        return None
    if cell is None:
        is_code = path.suffix in _CODE or _starts_python(lines) or is_shell_script(path, "\n".join(lines[:1]))
    else:
        is_code = path.suffix == notebook.SUFFIX
    return (lines, at[1]) if is_code and 1 <= at[1] <= len(lines) else None


def judge_file(site: str, folder: str, digest: str | None) -> State:
    """Whether the file of a call site reads now as when a run had it with this digest, in hexadecimal.

    The digest is that of its bytes, of a notebook that of its cells. What `read_source` would not read, and a
    file whose digest is None, are unknown.
    """
    at = parse_site(site)
    if at is None or digest is None or not folder:
        return "unknown"
    name = notebook.strip_cell(at[0])
    try:
        path = _find_file(name, folder)
        if path is None:
            return "unknown"
        if name.endswith(notebook.SUFFIX):
            now = notebook.digest_cells(notebook.read_cells(path))
        else:
            now = digest_bytes(untrusted.read_bytes(path, MOST_BYTES)).hex()
    except FileNotFoundError:
        return "gone" if Path(folder).is_dir() else "unknown"
    except (OSError, RuntimeError, ValueError):
        return "unknown"
    return "same" if now == digest else "changed"


def _find_file(name: str, folder: str) -> Path | None:
    """Where a file is once every link is followed; None where no run's code may be.

    Raises OSError, RuntimeError and ValueError.
    """
    path = (Path(folder) / name).resolve(strict=True)
    return path if any(path.is_relative_to(root) for root in _list_roots(folder)) else None


def read_line(site: str | None, folder: str) -> str:
    """The text of the line of a call site, wherever it is, "" when it cannot be read."""
    at = parse_site(site)
    if at is None:
        return ""
    name, cell = notebook.parse_cell_name(at[0]) or (at[0], None)
    try:
        lines = _read_lines(Path(folder, name), cell, follow=True)
    except (OSError, ValueError):
        return ""
    return lines[at[1] - 1].strip() if 1 <= at[1] <= len(lines) else ""


def _read_lines(path: Path, cell: int | None, *, follow: bool = False) -> list[str]:
    """Those of a file, or of one cell of a notebook. Raises OSError and ValueError."""
    if cell is None:
        return untrusted.read_text(path, MOST_BYTES, errors="replace", follow=follow).splitlines()
    cells = notebook.read_cells(path, follow=follow)
    return next((item.source.splitlines() for item in cells if item.number == cell), [])


def is_shell_script(path: Path, text: str) -> bool:
    """Whether a file is a shell script or a Makefile, by its name or its first line."""
    return path.suffix in OF_SHELLS or path.name in _MAKEFILES or _STARTS_SHELL.match(text) is not None


def _starts_python(lines: list[str]) -> bool:
    return bool(lines) and lines[0].startswith("#!") and "python" in lines[0]


@functools.lru_cache(maxsize=64)
def _list_roots(folder: str) -> tuple[Path, ...]:
    here = Path(folder).resolve()
    repository = next((above for above in (here, *here.parents) if (above / ".git").exists()), here)
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (
        here,
        repository,
        *(Path(path).resolve() for path in (*sorted(installed), *list_target_folders())),
    )
