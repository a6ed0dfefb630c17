"""`samerun vary`: what does the result of a command depend on?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import Verb, add_control_options, add_launch_options, at_least, chosen_control, duration
from samerun.cli.check import interrupted
from samerun.cli.files import check_file
from samerun.cli.store import store_to_record

if TYPE_CHECKING:
    from samerun.experiments.request import Request


class Vary(Verb):
    """Change one source at a time, and compare bit for bit."""

    name = "vary"
    summary = "change one source at a time and say which ones the result depends on"
    example = "samerun vary --factors threads,hash-seed --budget 10m -- python train.py"
    usage = "[options] -- COMMAND"
    takes_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--factors",
            type=ids,
            default=(),
            metavar="ID,ID",
            help="vary these sources alone (default: all but the random number generators)",
        )
        parser.add_argument(
            "--budget", type=duration, metavar="TIME", help="such as 90, 10m or 1h: the most telling first"
        )
        parser.add_argument("--first", action="store_true", help="stop at the first dependence")
        parser.add_argument("--steps", type=at_least(1), metavar="N", help="stop each run after N steps")
        add_control_options(parser)
        add_launch_options(parser)
        parser.add_argument(
            "--json", metavar="FILE", help="write the result as JSON too; - for standard output"
        )
        parser.add_argument("--html", metavar="FILE", help="write a report for people, one HTML file")

    def run(self, options: argparse.Namespace) -> int:
        """Vary, report, and exit: 0 it depends on nothing that was tried, 1 it does, 3 it cannot be told."""
        from samerun.cli.output import put_out
        from samerun.experiments.vary.vary import Asked, vary
        from samerun.report import json
        from samerun.report.progress import Progress
        from samerun.report.text.vary import show

        json.check_target(options.json)
        check_file(options.html, "--html")
        request = _request(options)
        asked = Asked(options.factors, options.budget, options.first)
        progress = Progress()
        try:
            with progress:
                result = vary(request, asked, progress)
        except KeyboardInterrupt:
            return interrupted(progress.runs, request.store)
        put_out(lambda console: show(result, console), result.to_json, options.json)
        if options.html is not None:
            from samerun.report.html.pages import experiment
            from samerun.report.html.pages import vary as of_vary

            experiment.write(of_vary.page(result), options.html)
        return exit_codes.OF_VERDICT[result.verdict]


def ids(text: str) -> tuple[str, ...]:
    """The ids of a list with commas."""
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def _request(options: argparse.Namespace) -> Request:
    from samerun.experiments.request import Request

    controlled = options.mode is not None or options.seed is not None
    return Request(
        command=tuple(options.command),
        folder=Path.cwd(),
        store=store_to_record(),
        steps=options.steps,
        control=chosen_control(options) if controlled else None,
        timeout=options.timeout,
        scratch=options.scratch,
    )
