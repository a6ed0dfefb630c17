"""Settings and manifests of two runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from samerun.runs.difference import Difference, Evidence, Strength


def find_differing(
    id_: str,
    difference: Difference,
    *,
    keys: tuple[str, ...] | None = None,
    strength: Strength = Strength.STRONG,
    site: str | None = None,
) -> Evidence | None:
    """Evidence that what a source says of itself is not the same in the two runs.

    None where one says nothing at all: a run that was killed before its first step had no time to.
    """
    a, b = difference.a.settings, difference.b.settings
    text = describe_changed(a.get(id_, {}), b.get(id_, {}), keys) if a and b else None
    return None if text is None else Evidence(id_, strength, text, site)


def is_alike(difference: Difference) -> bool:
    """Whether both runs computed with the same number of threads, precision, machine and torch."""
    from samerun.sources.catalogue import find_sources

    a, b = difference.a.settings, difference.b.settings
    return all(
        describe_changed(a.get(source.id, {}), b.get(source.id, {}), source.must_agree) is None
        for source in find_sources().values()
    )


def describe_changed(a: Any, b: Any, keys: tuple[str, ...] | None = None, most: int = 3) -> str | None:
    """What differs between two values, by key where they are mappings; None when nothing does."""
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return None if a == b else f"{a} and {b}"
    names = [key for key in (sorted({*a, *b}) if keys is None else keys) if a.get(key) != b.get(key)]
    if not names:
        return None
    said = [f"{name}: {_show(a.get(name))} and {_show(b.get(name))}" for name in names[:most]]
    return ", ".join(said) + (f", and {len(names) - most} more" if len(names) > most else "")


def _show(value: Any) -> str:
    text = "unset" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
