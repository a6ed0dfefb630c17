"""Tier `ops`: every draw from Python's and NumPy's global generators, by the line that made it.

Draws from torch's generators are operations, and recorded as such.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samerun import digest

if TYPE_CHECKING:
    from samerun.recording.journal import Journal

_STATE = {"seed", "getstate", "setstate", "get_state", "set_state", "get_bit_generator", "set_bit_generator"}


def observe_random(journal: Journal, random: types.ModuleType) -> None:
    """Wrap the functions of `random`, which are the methods of one hidden instance."""
    _wrap(journal, random, random._inst, "python-random")


def observe_numpy(journal: Journal, numpy_random: types.ModuleType) -> None:
    """Wrap the functions of `numpy.random`, which are the methods of one hidden RandomState."""
    _wrap(journal, numpy_random, numpy_random.mtrand._rand, "numpy-global")


def _wrap(journal: Journal, module: types.ModuleType, hidden: object, source: str) -> None:
    for name, function in list(vars(module).items()):
        if name.startswith("_") or name in _STATE or getattr(function, "__self__", None) is not hidden:
            continue
        if callable(function):
            setattr(module, name, _noted(journal, function, source))


def _noted(journal: Journal, function: Callable[..., Any], source: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def drawn(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        shown = arguments[:1] if result is None else result  # shuffle works on its argument
        came = digest.digest_value(shown)
        journal.note("draw", source, digest=came, detail=function.__name__, user_only=True)
        return result

    return drawn
