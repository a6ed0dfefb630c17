"""`samerun check`: runs a command several times and says whether the runs give the same bits."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import (
    Verb,
    add_control_options,
    add_launch_options,
    at_least,
    check_control_options,
    chosen_control,
)
from samerun.cli.files import add_file_options, check_files, write_files
from samerun.cli.output import report
from samerun.cli.stderr import say
from samerun.cli.store import store_to_record

if TYPE_CHECKING:
    from samerun.experiments.request import Request
    from samerun.runs.store import Store


class Check(Verb):
    """Record N runs, compare them, and explain the first difference."""

    name = "check"
    summary = "run a command several times and say whether the runs give the same bits, and if not, why"
    example = "samerun check -n 3 -- python train.py --lr 0.1"
    usage = "[options] -- COMMAND"
    takes_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("-n", dest="runs", type=at_least(2), default=2, metavar="RUNS", help="default 2")
        parser.add_argument("--steps", type=at_least(1), metavar="N", help="stop each run after N steps")
        parser.add_argument("--controlled", action="store_true", help="control every source in every run")
        add_control_options(parser)
        add_launch_options(parser)
        parser.add_argument(
            "--no-confirm",
            dest="confirm",
            action="store_false",
            help="name the likely cause without further runs that prove it",
        )
        parser.add_argument(
            "--json", metavar="FILE", help="write the result as JSON too; - for standard output"
        )
        add_file_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        """Check, report, and exit by the verdict."""
        check_control_options(options, "check")
        from samerun.experiments.check.check import check
        from samerun.report import json
        from samerun.report.progress import Progress

        json.check_target(options.json)
        check_files(options)
        request = _request(options)
        progress = Progress()
        try:
            with progress:
                result = check(request, progress)
        except KeyboardInterrupt:
            return interrupted(progress.runs, request.store)
        report(result, options.json)
        write_files(result, options, request.store)
        return exit_codes.OF_VERDICT[result.verdict]


def interrupted(runs: dict[str, str], store: Store) -> int:
    """Say which runs were kept after Ctrl-C."""
    listed = ", ".join(f"{run} ({outcome})" for run, outcome in runs.items())
    kept = f"runs kept in {store.runs}: {listed}" if runs else "no run was recorded"
    say(f"interrupted; {kept}")
    return exit_codes.INTERRUPTED


def _request(options: argparse.Namespace) -> Request:
    from samerun.experiments.request import Request

    return Request(
        command=tuple(options.command),
        folder=Path.cwd(),
        store=store_to_record(),
        runs=options.runs,
        steps=options.steps,
        control=chosen_control(options) if options.controlled else None,
        confirm=options.confirm,
        timeout=options.timeout,
        scratch=options.scratch,
    )
