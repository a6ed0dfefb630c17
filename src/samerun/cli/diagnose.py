"""`samerun diagnose`: finds every reason for which the runs of a command differ, with proof and a patch."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import (
    add_control_options,
    add_launch_options,
    add_steps_option,
    asked_control,
    parse_at_least,
)
from samerun.cli.experiment import ExperimentVerb, request_of
from samerun.cli.output import add_output_options, write_files

if TYPE_CHECKING:
    from rich.console import Console

    from samerun.experiments.diagnose.result import Diagnosis
    from samerun.experiments.request import Request
    from samerun.experiments.runner import Runner

_FOREVER = 1 << 31
_RUNS = 2


class Diagnose(ExperimentVerb):
    """Record, explain, control, record again, until the runs agree."""

    name = "diagnose"
    summary = "find every reason for which the runs of a command differ: each with its proof, and a patch"
    example = "samerun diagnose --patch fix.patch -- python train.py --lr 0.1"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "-n", dest="runs", type=parse_at_least(2), metavar="RUNS", help=f"default {_RUNS}"
        )
        parser.add_argument(
            "--until",
            type=_parse_until,
            metavar="differs|N",
            help="for a difference that is rare: record until two runs differ, N runs at most",
        )
        add_steps_option(parser)
        parser.add_argument(
            "--controlled", action="store_true", help="control every source, and diagnose what still differs"
        )
        add_control_options(parser)
        add_launch_options(parser)
        parser.add_argument("--patch", metavar="FILE", help="write the patch for the script, a unified diff")
        add_output_options(parser, "html", "junit")

    def request(self, options: argparse.Namespace) -> Request:
        """So many runs of the command to begin with."""
        runs = options.until or options.runs or _RUNS
        return request_of(options, asked_control(options), runs=runs, ignoring=True)

    def experiment(self, request: Request, options: argparse.Namespace, runner: Runner) -> Diagnosis:
        """Diagnose."""
        from samerun.experiments.diagnose.diagnose import diagnose

        return diagnose(request, runner, rare=options.until is not None)

    def show(self, result: Diagnosis, options: argparse.Namespace, console: Console) -> None:
        """Print every source that was found, and where the patch is."""
        from samerun.report.text.diagnosis import show

        show(result, console, options.patch)

    def write_files(self, result: Diagnosis, options: argparse.Namespace, request: Request) -> None:
        """Write --patch, --html and --junit."""
        if options.patch is not None and result.patch is not None and result.patch.diff:
            from samerun.report.json import write_text

            write_text(result.patch.diff, options.patch, "--patch")
        write_files(result, options, request.store)

    def exit_code(self, result: Diagnosis) -> int:
        """By the verdict of the first runs."""
        return exit_codes.OF_VERDICT[result.check.verdict]


def _parse_until(text: str) -> int:
    """The most runs to record."""
    if text == "differs":
        return _FOREVER
    try:
        return parse_at_least(2)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; or give the word differs") from None
