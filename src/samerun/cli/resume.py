"""`samerun resume`: kills a command, resumes it, and compares it with the run that was never stopped."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli.base import add_control_options, add_timeout_option, asked_control, at_least
from samerun.cli.experiment import ExperimentVerb
from samerun.cli.files import add_output_options
from samerun.cli.store import store_to_record
from samerun.errors import UsageError

if TYPE_CHECKING:
    from samerun.experiments.progress import Listener
    from samerun.experiments.resume.attempts import ResumeRequest
    from samerun.experiments.resume.result import ResumeResult

_KILL_AT, _RESUME_WITH = "--kill-at", "--resume-with"
_JOINED = (f"{_KILL_AT}=", f"{_RESUME_WITH}=")


class Resume(ExperimentVerb):
    """Kill, resume, compare; then kill twice; name what the checkpoint lacked."""

    name = "resume"
    summary = "kill a command, resume it, and say whether it gives the bits of the run that was never stopped"
    example = 'samerun resume --kill-at 30 --resume-with "python train.py --resume" -- python train.py'
    usage = "--kill-at STEP [--resume-with COMMAND] [options] -- COMMAND"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            _KILL_AT,
            type=at_least(1),
            metavar="STEP",
            help="kill it (SIGKILL) before this optimizer step begins; 0 is the first",
        )
        parser.add_argument(
            _RESUME_WITH,
            type=_words,
            metavar="COMMAND",
            help="the command that goes on, as one word in quotes; default: the same command",
        )
        parser.add_argument(
            "--steps", type=at_least(2), metavar="N", help="compare N steps, and stop after them"
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
        _take_trailing(options)
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
            store=store_to_record(),
            steps=options.steps,
            control=asked_control(options),
            confirm=options.confirm,
            timeout=options.timeout,
        )
        check_command(request.resume_with, request.folder, os.environ)
        return request

    def experiment(
        self, request: ResumeRequest, options: argparse.Namespace, listener: Listener
    ) -> ResumeResult:
        """Kill, resume and compare."""
        from samerun.experiments.resume.resume import resume

        return resume(request, listener)

    def kept(self, request: ResumeRequest, runs: Mapping[str, str]) -> str:
        """The runs, or that there are none."""
        return super().kept(request, runs) if runs else f"runs kept in {request.store.runs}: none"


def _take_trailing(options: argparse.Namespace) -> None:
    """Take --kill-at STEP and --resume-with COMMAND from the end of the command, where they end it.

    Only when --kill-at was not given before the command: then all that follows is the command.
    """
    if options.kill_at is not None:
        return
    words: list[str] = options.command
    at = next((at for at, word in enumerate(words) if word.partition("=")[0] in (_KILL_AT, _RESUME_WITH)), 0)
    if not at:
        raise _wrong(f"say before which step to kill the command, with {_KILL_AT} STEP")
    try:
        step, resume_with = _trailing(words[at:])
        options.kill_at = at_least(1)(step)
    except argparse.ArgumentTypeError as error:
        raise _wrong(str(error)) from None
    if resume_with is not None:
        if options.resume_with is not None:
            raise _wrong(f"{_RESUME_WITH} is given twice")
        options.resume_with = resume_with
    options.command = words[:at]


def _trailing(words: Sequence[str]) -> tuple[str, tuple[str, ...] | None]:
    """(the step, the words of the other command where there is one) as they follow a command."""
    split = [part for word in words for part in (word.split("=", 1) if word.startswith(_JOINED) else [word])]
    match split:
        case ["--kill-at", step]:
            return step, None
        case ["--kill-at", step, "--resume-with", word]:
            return step, _words(word)
        case ["--kill-at", step, "--resume-with", *command] if command:
            return step, tuple(command)
        case ["--resume-with", word, "--kill-at", step]:
            return step, _words(word)
    raise _wrong(
        f"{shlex.join(words)} does not end the command as {_KILL_AT} STEP {_RESUME_WITH} COMMAND does"
    )


def _words(text: str) -> tuple[str, ...]:
    """The words of a command that is given as one word."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read as a command ({error})") from None
    if not words or not words[0]:
        raise argparse.ArgumentTypeError("the command is empty")
    return words


def _wrong(message: str) -> UsageError:
    return UsageError(f"{message}; for example: {Resume.example}")
