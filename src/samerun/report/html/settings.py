"""What each run says of itself and of its sources, side by side."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from samerun.runs.manifest import Manifest
from samerun.runs.store import Run
from samerun.sources.environment import Environment
from samerun.sources.packages import Packages

_LONGEST = 400  # characters of one value


@dataclass(frozen=True)
class Setting:
    """One value of each run, None where a run has none."""

    group: str
    name: str
    values: tuple[str | None, ...]

    @property
    def differs(self) -> bool:
        """Whether the runs do not all have the same."""
        return len(set(self.values)) > 1


def build_settings(runs: Sequence[Run]) -> list[Setting]:
    """Every setting of these runs, by group. Raises RunError, SchemaError for a manifest."""
    said = [_read_run(run) for run in runs]
    names = dict.fromkeys(name for of_run in said for name in of_run)
    groups = dict.fromkeys(group for group, _ in names)
    ordered = [name for group in groups for name in names if name[0] == group]
    return [Setting(*name, tuple(of_run.get(name) for of_run in said)) for name in ordered]


def _read_run(run: Run) -> dict[tuple[str, str], str]:
    manifest = run.manifest
    found = {("run", name): value for name, value in _list_facts(manifest).items() if value}
    found |= {("variable", name): str(value) for name, value in manifest.environment.items()}
    found |= {("package", name): str(value) for name, value in manifest.packages.items()}
    for source, says in sorted(manifest.settings.items()):
        if source in (Environment.id, Packages.id) or not isinstance(says, Mapping):
            continue  # told above
        found |= {(source, str(name)): _write_value(value) for name, value in says.items()}
    return {name: _shorten(value) for name, value in found.items()}


def _list_facts(manifest: Manifest) -> dict[str, str]:
    git = manifest.git or {}
    changed = " with changes" if git.get("dirty") else ""
    return {
        "command": shlex.join(manifest.command),
        "folder": manifest.cwd,
        "git commit": f"{git['commit']}{changed}" if git.get("commit") else "",
        "git changes": str(git.get("diff") or ""),
        "python": manifest.python,
        "platform": manifest.platform,
        "mode": manifest.mode or "",
        "seed": "" if manifest.seed is None else str(manifest.seed),
    }


def _write_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=True)


def _shorten(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
