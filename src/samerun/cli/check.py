"""`samerun check`: runs a command several times and says whether the runs give the same bits."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from samerun.cli.base import (
    add_compatible_option,
    add_control_options,
    add_launch_options,
    add_steps_option,
    asked_control,
    parse_at_least,
)
from samerun.cli.experiment import ExperimentVerb, request_of
from samerun.cli.output import add_output_options, write_files

if TYPE_CHECKING:
    from samerun.experiments.check.result import CheckResult
    from samerun.experiments.request import Request
    from samerun.experiments.runner import Runner


_RUNS, _MOST = 2, 5  # runs that are recorded, and those where what is in play may go another way


class Check(ExperimentVerb):
    """Record N runs, compare them, and explain the first difference."""

    name = "check"
    summary = "run a command several times and report whether the runs give the same bits, and if not, why"
    example = "samerun check --steps 3 -- python train.py --lr 0.1"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "-n",
            dest="runs",
            type=parse_at_least(2),
            metavar="RUNS",
            help=f"default {_RUNS}, and up to {_MOST} where threads, workers or a clock may decide otherwise",
        )
        add_steps_option(parser)
        parser.add_argument("--controlled", action="store_true", help="control every source in every run")
        add_control_options(parser)
        add_compatible_option(parser)
        add_launch_options(parser)
        parser.add_argument(
            "--no-confirm",
            dest="confirm",
            action="store_false",
            help="name the likely cause without the further runs that confirm it",
        )
        add_output_options(parser, "html", "junit")

    def request(self, options: argparse.Namespace) -> Request:
        """So many runs of the command."""
        runs, up_to = (_RUNS, _MOST) if options.runs is None else (options.runs, None)
        control = asked_control(options)
        return request_of(options, control, runs=runs, confirm=options.confirm, up_to=up_to, ignoring=True)

    def experiment(self, request: Request, options: argparse.Namespace, runner: Runner) -> CheckResult:
        """Check."""
        from samerun.experiments.check.check import check

        return check(request, runner)

    def write_files(self, result: CheckResult, options: argparse.Namespace, request: Request) -> None:
        """Write --html and --junit."""
        write_files(result, options, request.store)
