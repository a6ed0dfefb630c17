"""`samerun cost`: what does reproducibility cost this command?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import Verb, add_launch_options, at_least, duration, seed
from samerun.cli.check import interrupted
from samerun.cli.files import check_file
from samerun.cli.store import store_to_record

if TYPE_CHECKING:
    from samerun.experiments.request import Request


class Cost(Verb):
    """Time every mode and control against the command left alone, and search the cheapest that repeats."""

    name = "cost"
    summary = "price each control and mode, and find the cheapest way to run that still repeats"
    example = "samerun cost --rounds 5 --budget 20m -- python train.py"
    usage = "[options] -- COMMAND"
    takes_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--rounds",
            type=at_least(2),
            default=5,
            metavar="N",
            help="in each, everything is run once, in random order (default 5)",
        )
        parser.add_argument(
            "--budget", type=duration, metavar="TIME", help="such as 20m: no more rounds then"
        )
        parser.add_argument("--steps", type=at_least(2), metavar="N", help="stop each run after N steps")
        parser.add_argument("--seed", type=seed, default=0, metavar="N", help="seed of every RNG (default 0)")
        add_launch_options(parser)
        parser.add_argument(
            "--json", metavar="FILE", help="write the result as JSON too; - for standard output"
        )
        parser.add_argument("--html", metavar="FILE", help="write a report for people, one HTML file")

    def run(self, options: argparse.Namespace) -> int:
        """Measure, report, and exit: 0 a configuration that repeats was found, 1 none was, 3 not known."""
        from samerun.cli.output import put_out
        from samerun.experiments.cost.cost import Rounds, cost
        from samerun.report import json
        from samerun.report.progress import Progress
        from samerun.report.text.cost import show

        json.check_target(options.json)
        check_file(options.html, "--html")
        request = _request(options)
        progress = Progress()
        try:
            with progress:
                result = cost(request, Rounds(options.rounds, options.budget), progress)
        except KeyboardInterrupt:
            return interrupted(progress.runs, request.store)
        put_out(lambda console: show(result, console), result.to_json, options.json)
        if options.html is not None:
            from samerun.report.html.pages import cost as of_cost
            from samerun.report.html.pages import experiment

            experiment.write(of_cost.page(result), options.html)
        return exit_codes.OF_VERDICT[result.verdict]


def _request(options: argparse.Namespace) -> Request:
    from samerun.experiments.request import Request
    from samerun.runs.plan import Control

    return Request(
        command=tuple(options.command),
        folder=Path.cwd(),
        store=store_to_record(),
        steps=options.steps,
        control=Control("strict", options.seed),
        timeout=options.timeout,
        scratch=options.scratch,
    )
