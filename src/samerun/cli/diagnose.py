"""`samerun diagnose`: finds every reason for which the runs of a command differ, with proof and a patch."""

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
from samerun.cli.check import interrupted
from samerun.cli.files import add_file_options, check_files, write_files
from samerun.cli.store import store_to_record

if TYPE_CHECKING:
    from samerun.experiments.request import Request

_FOREVER = 1 << 31


class Diagnose(Verb):
    """Record, explain, control, record again, until the runs agree."""

    name = "diagnose"
    summary = "find every reason for which the runs of a command differ: each with its proof, and a patch"
    example = "samerun diagnose --patch fix.patch -- python train.py --lr 0.1"
    usage = "[options] -- COMMAND"
    takes_command = True

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("-n", dest="runs", type=at_least(2), default=2, metavar="RUNS", help="default 2")
        parser.add_argument(
            "--until",
            type=_until,
            metavar="differs|N",
            help="for a difference that is rare: record until two runs differ, N runs at most",
        )
        parser.add_argument("--steps", type=at_least(1), metavar="N", help="stop each run after N steps")
        parser.add_argument(
            "--controlled", action="store_true", help="what still differs with every source controlled"
        )
        add_control_options(parser)
        add_launch_options(parser)
        parser.add_argument("--patch", metavar="FILE", help="write the patch for the script, a unified diff")
        parser.add_argument(
            "--json", metavar="FILE", help="write the result as JSON too; - for standard output"
        )
        add_file_options(parser)

    def run(self, options: argparse.Namespace) -> int:
        """Diagnose, report, and exit by the verdict."""
        check_control_options(options, "diagnose")
        from samerun.cli.output import report_diagnosis
        from samerun.experiments.diagnose.diagnose import diagnose
        from samerun.report import json
        from samerun.report.progress import Progress

        json.check_target(options.json)
        json.check_target(options.patch, "--patch")
        check_files(options)
        request = _request(options)
        progress = Progress()
        try:
            with progress:
                diagnosis = diagnose(request, progress, rare=options.until is not None)
        except KeyboardInterrupt:
            return interrupted(progress.runs, request.store)
        report_diagnosis(diagnosis, options.json, options.patch)
        write_files(diagnosis, options, request.store)
        return exit_codes.OF_VERDICT[diagnosis.check.verdict]


def _until(text: str) -> int:
    """The most runs to record."""
    if text == "differs":
        return _FOREVER
    try:
        return at_least(2)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; or give the word differs") from None


def _request(options: argparse.Namespace) -> Request:
    from samerun.experiments.request import Request

    return Request(
        command=tuple(options.command),
        folder=Path.cwd(),
        store=store_to_record(),
        runs=options.until or options.runs,
        steps=options.steps,
        control=chosen_control(options) if options.controlled else None,
        timeout=options.timeout,
        scratch=options.scratch,
    )
