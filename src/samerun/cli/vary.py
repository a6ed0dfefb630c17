"""`samerun vary`: what does the result of a command depend on?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from samerun.cli.base import (
    add_control_options,
    add_launch_options,
    add_steps_option,
    choose_control,
    ids,
    parse_duration,
)
from samerun.cli.experiment import ExperimentVerb, request_of
from samerun.cli.output import add_output_options

if TYPE_CHECKING:
    from samerun.experiments.request import Request
    from samerun.experiments.runner import Runner
    from samerun.experiments.vary.result import VaryResult


class Vary(ExperimentVerb):
    """Change one source at a time, and compare bit for bit.

    Exits with 0 when the result depends on nothing that was tried, 1 when it does, 3 when it cannot be told.
    """

    name = "vary"
    summary = "change one source at a time and report which ones the result depends on"
    example = "samerun vary --factors threads,hash-seed --budget 10m -- python train.py"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--factors",
            type=ids,
            default=(),
            metavar="ID,ID",
            help="only vary these sources (default: all but the random number generators)",
        )
        parser.add_argument(
            "--budget",
            type=parse_duration,
            metavar="TIME",
            help="stop starting changes after TIME (e.g. 90, 10m or 1h); the most likely ones come first",
        )
        parser.add_argument("--first", action="store_true", help="stop at the first dependence")
        add_steps_option(parser)
        add_control_options(parser)
        add_launch_options(parser)
        add_output_options(parser, "html")

    def request(self, options: argparse.Namespace) -> Request:
        """The command, controlled where a mode, a seed or a source is given."""
        controlled = options.mode is not None or options.seed is not None or bool(options.extra)
        return request_of(options, choose_control(options) if controlled else None)

    def experiment(self, request: Request, options: argparse.Namespace, runner: Runner) -> VaryResult:
        """Vary."""
        from samerun.experiments.vary.vary import VaryRequest, vary

        return vary(request, VaryRequest(options.factors, options.budget, options.first), runner)
