"""`samerun cost`: what does reproducibility cost this command?"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli.base import add_launch_options, add_steps_option, parse_at_least, parse_duration, seed
from samerun.cli.experiment import ExperimentVerb, request_of
from samerun.cli.output import add_output_options
from samerun.runs.plan import Control

if TYPE_CHECKING:
    from samerun.experiments.cost.result import CostResult
    from samerun.experiments.request import Request
    from samerun.experiments.runner import Runner
    from samerun.report.safe_text import Line


class Cost(ExperimentVerb):
    """Time every mode and control against the command left alone, and search the cheapest that repeats.

    Exits with 0 when a configuration that repeats was found, 1 when none was, 3 when it is not known.
    """

    name = "cost"
    summary = "measure the cost of each control and mode, and find the cheapest that still repeats"
    example = "samerun cost --rounds 5 --budget 20m -- python train.py"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--rounds",
            type=parse_at_least(2),
            default=5,
            metavar="N",
            help="at most so many measurement rounds (default 5); fewer where prices are known to 2 %%",
        )
        parser.add_argument(
            "--budget", type=parse_duration, metavar="TIME", help="stop starting rounds after TIME (e.g. 20m)"
        )
        add_steps_option(parser, least=2)
        parser.add_argument("--seed", type=seed, metavar="N", help="seed of every RNG (default 0)")
        add_launch_options(parser)
        add_output_options(parser, "html")

    def list_so_far(self, result: CostResult) -> Iterable[Line]:
        """The prices after each round."""
        from samerun.report.text.cost import list_prices

        return list_prices(result)

    def request(self, options: argparse.Namespace) -> Request:
        """The command, with the control that is priced."""
        from samerun.cli.settings.files import read_settings

        kept = read_settings(Path.cwd()).seed or 0
        return request_of(options, Control("strict", kept if options.seed is None else options.seed))

    def experiment(self, request: Request, options: argparse.Namespace, runner: Runner) -> CostResult:
        """Measure."""
        from samerun.experiments.cost.cost import Rounds, cost

        return cost(request, Rounds(options.rounds, options.budget), runner)
