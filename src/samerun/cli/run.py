"""`samerun run`: runs a command with every source controlled, and records it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import (
    Verb,
    add_compatible_option,
    add_control_options,
    add_launch_options,
    choose_control,
)
from samerun.cli.settings.store import open_store, store_to_record
from samerun.cli.stderr import say
from samerun.report.text.uncontrolled import describe_uncontrolled
from samerun.runs.plan import Plan

if TYPE_CHECKING:
    from samerun.runs.store import Run


class RunVerb(Verb):
    """Control, record, and exit as the command does."""

    name = "run"
    summary = "run a command with every source of difference controlled, and record it"
    example = "samerun run --seed 1 -- python train.py"
    usage = "[options] -- COMMAND"
    takes_command = True
    exits_as_its_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        add_control_options(parser)
        add_compatible_option(parser)
        add_launch_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        """Run, and return the command's own exit code (128 + the signal's number after a signal).

        124 where the timeout ended it, 130 where it did not heed Ctrl-C and samerun ended it.
        """
        from samerun.launching.launch import LaunchRequest
        from samerun.launching.run import record
        from samerun.launching.workspace import Workspace

        place = open_store().runs.absolute()
        run = record(
            LaunchRequest(options.command, timeout=options.timeout, tee=True, passes_signals=True),
            Plan(control=choose_control(options)),
            Workspace(Path.cwd(), store_to_record(), fresh=options.scratch),
        )
        _tell(run, place)
        for line in describe_uncontrolled(run, options):
            say(line)
        if run.outcome == "interrupted" and run.manifest.exit_code is None:
            return exit_codes.INTERRUPTED
        if run.outcome == "timeout":
            say(f"ended after {options.timeout:g} s, the --timeout")
            return exit_codes.TIMEOUT
        return exit_codes.read_exit_code(run.manifest.exit_code)


def _tell(run: Run, place: Path) -> None:
    """Where the run is, by its id if it is in `place`, and what of it is not as it should be."""
    from samerun.experiments.run_outcome import explain_repeated_names
    from samerun.health.examine import examine
    from samerun.launching.why_unrecorded import without_torch
    from samerun.runs.recorder_errors import explain_broken, read_complaints

    here = run.path.parent == place
    lines = [f"recorded as {run.id if here else run.path}", *read_complaints(run.path)]
    absent = without_torch(run.path)
    if absent is not None:
        lines.append(f"nothing of torch's was recorded: {absent}")
    broken = explain_broken(run.path)
    if broken is not None:
        lines.append(f"the record is not whole, so this run cannot be compared to its end: {broken}")
    if run.manifest.error is not None and run.outcome == "finished":
        lines.append(run.manifest.error)
    repeated = explain_repeated_names(run)
    lines += [] if repeated is None else [repeated]
    for line in (*lines, *examine(run)):
        say(line)
