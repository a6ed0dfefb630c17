"""The runs themselves: when they ran, how they ended, what they printed last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.lookup import Lookup
from samerun.experiments.run_outcome import read_last_lines_of
from samerun.runs.store import Run


@dataclass(frozen=True)
class RunRow:
    """One run of the report; `run` is None when it is not on disk any more."""

    label: str
    name: str
    run: Run | None
    output: tuple[str, ...] = ()

    @property
    def took(self) -> str:
        """How long, in seconds."""
        return "" if self.run is None else f"{self.run.duration_s:.1f} s"

    @property
    def under(self) -> str:
        """What was controlled."""
        if self.run is None or self.run.manifest.mode in (None, "off"):
            return "nothing"
        manifest = self.run.manifest
        control = manifest.plan.get("control")
        only = control.get("only") if isinstance(control, dict) else None
        what = ", ".join(map(str, only)) if isinstance(only, list) and only else f"mode {manifest.mode}"
        return f"{what}, seed {manifest.seed}"


def list_runs(diagnosis: Diagnosis, lookup: Lookup) -> list[RunRow]:
    """Every run that the report speaks of, those compared first. Raises RunError, SchemaError."""
    compared = diagnosis.check.runs
    more: dict[str, str] = {}
    for found in diagnosis.found:
        for letter, name in zip("AB", found.pair, strict=False):
            more.setdefault(name, f"{letter}, looked at closely")
        for name in () if found.proof is None else found.proof.runs:
            more.setdefault(name, "proof")
    for name in () if diagnosis.patch is None else diagnosis.patch.runs:
        more.setdefault(name, "patched code")
    rows = [(f"run {number}", name) for number, name in enumerate(compared, start=1)]
    rows += [(label, name) for name, label in more.items() if name not in compared]
    return [_look_up(label, name, lookup) for label, name in rows]


def _look_up(label: str, name: str, lookup: Lookup) -> RunRow:
    run = lookup.find(name)
    if run is None:
        return RunRow(label, name, None)
    _ = run.manifest  # raises here rather than in the page
    return RunRow(label, name, run, read_last_lines_of(run))


def select_runs(rows: Sequence[RunRow], names: Sequence[str] | None = None) -> list[Run]:
    """The runs of these rows that are on disk; those of these names, in their order, where given."""
    on_disk = {row.name: row.run for row in rows if row.run is not None}
    return [on_disk[name] for name in (on_disk if names is None else names) if name in on_disk]
