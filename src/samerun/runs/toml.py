"""Reads TOML that may come from a stranger."""

from __future__ import annotations

import importlib
from typing import Any


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text. Raises ValueError for every fault, and for what is nested too deep."""
    try:
        toml = importlib.import_module("tomllib")
    except ImportError:  # before Python 3.11: what it came of
        toml = importlib.import_module("tomli")
    try:
        found: dict[str, Any] = toml.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return found
