"""The libraries and their versions."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from typing import Any

from samerun.runs.difference import Difference, Evidence, Strength
from samerun.sources.evidence import settings_diff
from samerun.sources.source import Kind, Source


class Packages(Source):
    """Python, torch, NumPy and every other imported package that names its version."""

    id = "packages"
    summary = "the runs used other versions of Python or of its packages"
    advice = "install the same versions: pip install -r constraints.txt"
    kind = Kind.PROVENANCE
    must_agree = ("torch",)
    controllable = False

    def describe(self) -> Mapping[str, Any]:
        """The version of Python and of each imported package."""
        found: dict[str, Any] = {"python": platform.python_version()}
        for name, module in sorted(sys.modules.items()):
            if "." not in name and not name.startswith("_") and name not in sys.stdlib_module_names:
                version = getattr(module, "__dict__", {}).get("__version__")  # never wakes a lazy module
                if isinstance(version, str):
                    found[name] = str(version)
        return found

    def recognise(self, difference: Difference) -> Evidence | None:
        """A package that both runs have has another version."""
        a, b = (
            side.settings.get(self.id)
            or {"python": side.manifest.get("python"), **_list_installed(side.manifest)}
            for side in (difference.a, difference.b)
        )
        # A run that made no step may not know them.
        common = tuple(name for name in sorted(a) if a[name] is not None and b.get(name) is not None)
        changed = settings_diff.describe_changed(a, b, common)
        return None if changed is None else Evidence(self.id, Strength.STRONG, changed)


def _list_installed(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return manifest.get("packages") or {}
