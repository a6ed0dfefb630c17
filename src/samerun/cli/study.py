"""`samerun study`: how much of a result is luck?"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import add_launch_options, add_steps_option, ids, parse_at_least
from samerun.cli.experiment import ExperimentVerb
from samerun.cli.output import add_output_options
from samerun.cli.settings.store import store_to_record
from samerun.errors import UsageError
from samerun.runs.plan import MODES, Mode

if TYPE_CHECKING:
    from samerun.experiments.runner import Runner
    from samerun.experiments.study.result import StudyResult
    from samerun.experiments.study.study import CarryOut, StudyRequest


class Study(ExperimentVerb):
    """Vary the seed of each source alone and of all together."""

    name = "study"
    summary = "measure how much of the metric is due to chance, from which source, and whether A beats B"
    example = r"samerun study --metric 'accuracy ([\d.]+)' --seeds 20 -- python train.py"
    usage = "--metric METRIC [options] -- COMMAND"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--metric",
            required=True,
            metavar="METRIC",
            help="a regular expression with one group (its last match in the output), json:FILE:KEY.KEY or "
            "file:FILE",
        )
        parser.add_argument("--seeds", type=parse_at_least(5), default=20, metavar="N", help="default 20")
        parser.add_argument(
            "--sources", type=ids, default=(), metavar="ID,ID", help="only vary these sources (default: all)"
        )
        parser.add_argument(
            "--against", metavar="'COMMAND'", help="compare with another command, seed by seed"
        )
        parser.add_argument("--better", choices=("higher", "lower"), default="higher", help="default higher")
        parser.add_argument(
            "--precision", type=float, metavar="X", help="report how many seeds give the mean to ± X"
        )
        parser.add_argument(
            "--jobs", type=parse_at_least(1), metavar="N", help="runs at once (default: processors)"
        )
        parser.add_argument("--launcher", choices=("local", "ray"), default="local", help="default local")
        parser.add_argument(
            "--address", metavar="HOST:PORT", help="of a Ray cluster (default: one of its own)"
        )
        parser.add_argument("--mlflow", metavar="URI", help="send the results to this MLflow server too")
        parser.add_argument("--mode", choices=MODES[1:], help="default strict")
        add_steps_option(parser)
        add_launch_options(parser)
        add_output_options(parser, "html")

    def request(self, options: argparse.Namespace) -> StudyRequest:
        """The study of the command."""
        from samerun.experiments.study.study import StudyRequest

        if options.address is not None and options.launcher != "ray":
            raise UsageError("--address is that of a Ray cluster; add --launcher ray, or leave it out")
        try:
            against = tuple(shlex.split(options.against or ""))
        except ValueError as error:
            raise UsageError(f"--against {options.against!r} is no command line ({error})") from None
        jobs = _jobs(options)
        several = jobs > 1 and "OMP_NUM_THREADS" not in os.environ
        return StudyRequest(
            command=tuple(options.command),
            folder=Path.cwd(),
            root=store_to_record().root.absolute(),
            metric=options.metric,
            seeds=options.seeds,
            sources=options.sources,
            against=against,
            higher_is_better=options.better == "higher",
            precision=options.precision,
            mode=options.mode or _find_kept_mode(),
            steps=options.steps,
            timeout=options.timeout,
            scratch=options.scratch,
            threads=max(1, _count_processors() // jobs) if several else None,
        )

    def experiment(self, request: StudyRequest, options: argparse.Namespace, runner: Runner) -> StudyResult:
        """Study."""
        from samerun.experiments.study.study import study

        logged = None
        if options.mlflow:
            from samerun.experiments.study.mlflow import Tracking

            logged = Tracking(options.mlflow).log
        return study(request, _choose_launcher(options), runner.listener, logged)

    def kept(self, request: StudyRequest, runs: Mapping[str, str]) -> str:
        """Results, rather than runs."""
        return "what has finished is kept: the same command goes on from there"

    def exit_code(self, result: StudyResult) -> int:
        """0: every run gave its metric, else 3."""
        return exit_codes.SAME if result.complete else exit_codes.UNKNOWN


def _find_kept_mode() -> Mode:
    from samerun.cli.settings.files import read_settings

    kept = read_settings(Path.cwd())
    if kept.mode == MODES[0]:
        raise UsageError(f"{kept.name_key('mode')} is off, and study needs control; add --mode strict")
    mode: Mode = kept.mode or "strict"
    return mode


def _choose_launcher(options: argparse.Namespace) -> CarryOut:
    if options.launcher == "ray":
        from samerun.experiments.study.launchers import on_ray

        return lambda tasks: on_ray.carry_out_all(tasks, options.address)
    from samerun.experiments.study.launchers import local

    return lambda tasks: local.carry_out_all(tasks, _jobs(options))


def _jobs(options: argparse.Namespace) -> int:
    """How many runs go on at once."""
    return options.jobs or _count_processors()


def _count_processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
