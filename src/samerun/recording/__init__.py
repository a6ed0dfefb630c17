"""Inside a run: hooks that write records, and change nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samerun.recording.journal import Journal
    from samerun.runs.plan import Plan


def start(plan: Plan, journal: Journal) -> None:
    """Record this process from here on; called once, right after torch was imported."""
    from samerun.recording import loading, modules, operations, training
    from samerun.recording.recorder import Recorder

    recorder = Recorder(plan, journal)
    journal.recorder = recorder
    named = modules.observe(recorder)
    training.observe(recorder, named)
    loading.observe(recorder)
    operations.observe(recorder, named.path)
