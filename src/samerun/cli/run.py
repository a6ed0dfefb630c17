"""`samerun run`: runs a command with every source controlled, and records it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from samerun.cli import exits
from samerun.cli.verb import Verb, add_control_options, add_launch_options, chosen_control
from samerun.errors import UsageError


class RunVerb(Verb):
    """Control, record, and exit as the command does."""

    name = "run"
    summary = "run a command with every source of difference controlled, and record it"
    example = "samerun run --seed 1 -- python train.py"
    usage = "[options] -- COMMAND"
    takes_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        add_control_options(parser)
        add_launch_options(parser)
        parser.add_argument(
            "--control",
            dest="extra",
            action="append",
            default=[],
            metavar="ID",
            help="control this source too; for those that are controlled on request alone, such as clock",
        )

    def run(self, options: argparse.Namespace) -> int:
        """Run, and return the command's own exit code (128 + the signal's number after a signal)."""
        from samerun.launching.run import record
        from samerun.runs.store import Store

        _check_sources(options.extra)
        run = record(
            list(options.command),
            store=Store(),
            tier="steps",
            window=None,
            stop_after=None,
            control=chosen_control(options, tuple(options.extra)),
            cwd=Path.cwd(),
            timeout=options.timeout,
            tee=True,
            env={},
            on_progress=None,
            scratch=options.scratch,
        )
        print(f"samerun: recorded as {run.id}", file=sys.stderr)
        if run.outcome == "interrupted":
            return exits.INTERRUPTED
        if run.outcome == "timeout":
            print(f"samerun: ended after {options.timeout:g} s, the --timeout", file=sys.stderr)
            return exits.TIMEOUT
        return exits.of_process(run.manifest.exit_code)


def _check_sources(ids: list[str]) -> None:
    from samerun.sources.catalogue import catalogue

    known = catalogue()
    for source in ids:
        if source not in known:
            raise UsageError(f"--control {source}: there is no such source; known: {', '.join(known)}")
        if not known[source].controllable:
            raise UsageError(f"--control {source}: it has no control; {known[source].advice}")
