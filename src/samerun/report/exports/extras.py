"""Libraries that only an export needs."""

from __future__ import annotations

import importlib
from typing import Any

from samerun.errors import UsageError


def load_library(module: str, option: str) -> Any:
    """The module. Raises UsageError that says what to install where it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{option} needs a library that is not there ({error}): pip install 'samerun[archive]'"
        ) from None
