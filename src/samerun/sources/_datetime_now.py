"""Watching `datetime.now()` without putting another class in its place.

A stand-in class would break what compares types: pickling, isinstance in compiled code, pyarrow's import. So
the two methods that read the clock are replaced in the type's own namespace. `date.today()` and
`datetime.today()` call `time.time`, and need nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from samerun import wrapping
from samerun.sources.source import Undo
from samerun.wrapping import Around

_NAMES = ("now", "utcnow")


def replace(call: Callable[..., Any]) -> Undo:
    """Put `call(name, original, cls, *args)` in the place of datetime.now and datetime.utcnow.

    `original` is bound to `cls`. Does nothing where the type is not built as CPython builds it.
    """
    kind: Any = datetime.datetime
    methods = {name: vars(kind)[name] for name in _NAMES}
    ours: dict[str, Any] = {
        name: classmethod(wrapping.wrap(method, _calling(call, name, method)))
        for name, method in methods.items()
    }
    try:
        return wrapping.all_of([wrapping.replace(kind, name, method) for name, method in ours.items()])
    except TypeError:
        return lambda: None


def _calling(call: Callable[..., Any], name: str, method: Any) -> Around:
    def hook(original: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bound = wrapping.in_the_callers_name(method.__get__(None, args[0]))  # utcnow() warns
        return call(name, bound, *args, **kwargs)

    return hook
