"""The language and sorting rules of the environment: https://docs.python.org/3/library/locale.html."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from samerun.sources.source import Kind, Settings, Source, Variant

_NAMES = ("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_NUMERIC", "LANG")


class Locale(Source):
    """Sorting by the locale's rules, and the encoding of files opened without one."""

    id = "locale"
    summary = "text is sorted and decoded by the rules of the environment's locale"
    advice = "open(path, encoding='utf-8'); sorted(names) instead of sort(1) or locale.strxfrm"
    kind = Kind.WORLD
    controllable = False

    def describe(self) -> Mapping[str, Any]:
        """The variables that are set."""
        return {name: value for name in _NAMES if (value := os.environ.get(name)) is not None}

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """The plain one of C, or its UTF-8 sister where that is what there is."""
        now = settings.get(self.id, {})
        is_c = now.get("LC_ALL", now.get("LANG", "C")) == "C"
        return [
            Variant(f"LC_ALL={name}", environment={"LC_ALL": name}, likely=0.05)
            for name in (["C.UTF-8"] if is_c else ["C"])
        ]
