"""`samerun resume`: kills a command, resumes it, and compares it with the run that was never stopped."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli.base import add_control_options, add_timeout_option, asked_control, parse_at_least
from samerun.cli.experiment import ExperimentVerb
from samerun.cli.output import add_output_options
from samerun.cli.settings.store import store_to_record
from samerun.errors import UsageError

if TYPE_CHECKING:
    from samerun.experiments.resume.attempts import ResumeRequest
    from samerun.experiments.resume.result import ResumeResult
    from samerun.experiments.runner import Runner

_KILL_AT = "--kill-at"


class Resume(ExperimentVerb):
    """Kill, resume, compare; then kill twice; name what the checkpoint lacked."""

    name = "resume"
    summary = "kill a command, resume it, and report whether it repeats the bits of the run never stopped"
    example = 'samerun resume --kill-at 30 --resume-with "python train.py --resume" -- python train.py'
    usage = "--kill-at STEP [--resume-with COMMAND] [options] -- COMMAND"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            _KILL_AT,
            type=parse_at_least(1),
            metavar="STEP",
            help="kill it (SIGKILL) before this optimizer step begins; 0 is the first",
        )
        parser.add_argument(
            "--resume-with",
            type=_split_words,
            metavar="COMMAND",
            help="the command that resumes, quoted as one word; default: the same command",
        )
        parser.add_argument(
            "--steps", type=parse_at_least(2), metavar="N", help="compare N steps, and stop after them"
        )
        parser.add_argument("--controlled", action="store_true", help="control every source in every run")
        add_control_options(parser)
        add_timeout_option(parser)
        parser.add_argument(
            "--no-confirm",
            dest="confirm",
            action="store_false",
            help="name what was lacking without a further run that proves that the command is repeatable",
        )
        add_output_options(parser)

    def check_options(self, options: argparse.Namespace) -> None:
        """Raise UsageError for options that contradict each other, or without --kill-at."""
        if options.kill_at is None:
            raise UsageError(f"{_missing_step(options.command)}; for example: {self.example}")
        super().check_options(options)
        if options.steps is not None and options.steps <= options.kill_at:
            raise UsageError(
                f"--steps {options.steps} ends before the kill at step {options.kill_at}; give more than "
                f"{options.kill_at}, or kill it earlier"
            )

    def request(self, options: argparse.Namespace) -> ResumeRequest:
        """Both commands; the other one is looked for before the first has run for hours."""
        from samerun.experiments.resume.attempts import ResumeRequest
        from samerun.launching.command import check_command

        command = tuple(options.command)
        request = ResumeRequest(
            command=command,
            resume_with=options.resume_with or command,
            kill_at=options.kill_at,
            folder=Path.cwd(),
            store=store_to_record(ignoring=True),
            steps=options.steps,
            control=asked_control(options),
            confirm=options.confirm,
            timeout=options.timeout,
        )
        check_command(request.resume_with, request.folder, os.environ)
        return request

    def experiment(self, request: ResumeRequest, options: argparse.Namespace, runner: Runner) -> ResumeResult:
        """Kill, resume and compare."""
        from samerun.experiments.resume.resume import resume

        return resume(request, runner)

    def kept(self, request: ResumeRequest, runs: Mapping[str, str]) -> str:
        """The runs, or that there are none."""
        return super().kept(request, runs) if runs else f"runs kept in {request.store.runs}: none"


def _missing_step(command: Sequence[str]) -> str:
    """What to do about a step that was not given, or given as an option of the command."""
    if any(word.partition("=")[0] == _KILL_AT for word in command):
        return f"the command has {_KILL_AT}, and resume has none; options of samerun go before --"
    return f"say before which step to kill the command, with {_KILL_AT} STEP"


def _split_words(text: str) -> tuple[str, ...]:
    """The words of a command that is given as one word."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read as a command ({error})") from None
    if not words or not words[0]:
        raise argparse.ArgumentTypeError("the command is empty")
    return words
