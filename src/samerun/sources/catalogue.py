"""Finds the sources by folder: to add one is to add a file."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from abc import ABCMeta
from collections.abc import Callable

from samerun.sources.source import Label, Source

_NOT_SOURCES = {"source", "catalogue"}


@functools.cache
def find_sources() -> dict[str, Source]:
    """Every source by its id, in the order of the ids."""
    import samerun.sources as package

    found: dict[str, Source] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name in _NOT_SOURCES or module.ispkg:
            continue
        for value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
            # not isinstance(value, type), which is true of Callable[[], None] before Python 3.11
            if type(value) is ABCMeta and issubclass(value, Source) and "id" in vars(value):
                found[value.id] = value()
    return dict(sorted(found.items()))


def labelled(label: Callable[[Source], Label | None]) -> dict[str, str]:
    """The text of each source that has this label, by its id, in the order of the labels."""
    labels = ((label(source), id_) for id_, source in find_sources().items())
    found = sorted((known, id_) for known, id_ in labels if known is not None)
    return {id_: known.text for known, id_ in found}


@functools.cache
def in_folder() -> frozenset[str]:
    """The ids of those that a fresh copy of the working directory controls."""
    return frozenset(id_ for id_, source in find_sources().items() if source.in_folder)
