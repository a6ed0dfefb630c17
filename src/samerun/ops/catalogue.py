"""Finds the implementations by folder: to add a family is to add a file with a tuple IMPLEMENTATIONS."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from samerun.ops.implementation import Implementation


@functools.cache
def implementations() -> dict[str, Implementation]:
    """Every operation that samerun implements, by its name, in the order of the names."""
    import samerun.ops.families as package

    found: dict[str, Implementation] = {}
    for module in pkgutil.iter_modules(package.__path__):
        family = importlib.import_module(f"{package.__name__}.{module.name}")
        found.update((one.name, one) for one in family.IMPLEMENTATIONS)
    return dict(sorted(found.items()))
