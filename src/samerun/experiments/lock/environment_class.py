"""The class of a machine and what is installed on it, as a run says: what decides which bits can come out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from samerun.runs.manifest import Manifest
from samerun.sources.catalogue import find_sources
from samerun.sources.cpu_isa import CpuIsa
from samerun.sources.environment import Environment as Variables
from samerun.sources.hardware import Hardware
from samerun.sources.packages import Packages
from samerun.sources.source import Kind

_MACHINE = (Hardware.id, CpuIsa.id)
_ID = 8  # hexadecimal digits


@dataclass(frozen=True)
class EnvironmentClass:
    """The four tables of a lock's environment, and their id."""

    machine: Mapping[str, str]
    settings: Mapping[str, str]
    packages: Mapping[str, str]
    variables: Mapping[str, str]

    @property
    def id(self) -> str:
        """Short, and the same for the same class."""
        text = json.dumps([self.machine, self.settings, self.packages, self.variables], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_ID]


def read_class(manifest: Manifest) -> EnvironmentClass:
    """That of a run, by what its sources said of themselves. No path, address or name of a host is in it."""
    says = manifest.settings
    machine: dict[str, str] = {}
    for source in _MACHINE:
        machine |= _flatten(source, says.get(source, {}))
    settings: dict[str, str] = {}
    for id_, source_ in find_sources().items():
        if source_.kind in (Kind.NUMERICS, Kind.KERNEL) and id_ not in _MACHINE:
            kept = _keep(says.get(id_, {}))
            said = ", ".join(f"{key} {value}" for key, value in kept.items() if " " not in key)
            settings |= {id_: said} if said else {}
    packages = says.get(Packages.id) or {"python": manifest.python, **manifest.packages}
    variables = says.get(Variables.id) or manifest.environment
    return EnvironmentClass(
        machine,
        settings,
        {
            name: version
            for name, version in _keep(packages).items()
            if " " not in name and ", " not in version
        },
        _keep(variables),
    )


def _flatten(source: str, says: Mapping[str, Any]) -> dict[str, str]:
    return {f"{source}.{key}": value for key, value in _keep(says).items() if " " not in key}


def _keep(says: Mapping[str, Any]) -> dict[str, str]:
    """As texts, without what is of one machine."""
    found = {}
    for key, value in says.items():
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        if value is not None and not names_place(text):
            found[str(key)] = text
    return found


def names_place(text: str) -> bool:
    """Whether a value may be a path or an address, which no lock holds."""
    return "/" in text or "\\" in text
