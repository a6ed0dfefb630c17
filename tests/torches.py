"""Folders that, first on PYTHONPATH, stand in the place of torch."""

from __future__ import annotations

from pathlib import Path

_MISSING = """raise ModuleNotFoundError("No module named 'torch'", name="torch")"""
_BROKEN = 'raise OSError("libcudart.so.12: cannot open shared object file")'
# It counts who asks it for anything.
_OLD = """\
__version__ = "2.5.1+cpu"
touched = []

def __getattr__(name):
    touched.append(name)
    raise AttributeError(name)
"""


def missing(folder: Path) -> str:
    """None is installed."""
    return _put(folder / "missing", _MISSING)


def broken(folder: Path) -> str:
    """One that cannot be loaded."""
    return _put(folder / "broken", _BROKEN)


def old(folder: Path) -> str:
    """2.5.1; `torch.touched` is what was asked of it."""
    return _put(folder / "old", _OLD)


def _put(place: Path, text: str) -> str:
    (place / "torch" / "utils").mkdir(parents=True)
    (place / "torch" / "__init__.py").write_text(text)
    (place / "torch" / "utils" / "__init__.py").touch()
    (place / "torch" / "utils" / "data.py").write_text("class DataLoader: ...\n")
    return str(place)
