"""The one interface of a verb, and the values its options take."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from samerun.errors import UsageError
from samerun.runs.plan import MODES, Control


class Verb(ABC):
    """One word after `samerun`. A subclass sets the class variables and does its work in `run`."""

    name: ClassVar[str]
    summary: ClassVar[str]  # one line for `samerun --help`
    example: ClassVar[str]  # a whole command line, shown by --help and by usage errors
    usage: ClassVar[str]  # what follows the verb's name in the usage line
    takes_command: ClassVar[bool] = False  # True: everything after the options is the command to start
    may_take_command: ClassVar[bool] = False  # True: what follows `--`, where it is given, is a command
    exits_as_its_command: ClassVar[bool] = False  # whatever becomes of what we print

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        return

    @abstractmethod
    def run(self, options: argparse.Namespace) -> int:
        """Do the work and return the exit code; `options.command` is the command, where one is taken."""


def add_control_options(parser: argparse.ArgumentParser) -> None:
    """--seed, --mode and --control, for the verbs that can control the sources."""
    parser.add_argument("--seed", type=seed, default=None, metavar="N", help="seed of every RNG (default 0)")
    parser.add_argument("--mode", choices=MODES, default=None, help="how much is controlled (default strict)")
    parser.add_argument(
        "--control",
        dest="extra",
        action="append",
        default=[],
        metavar="ID",
        help="control this source too, for sources that are only controlled on request, such as clock "
        "(uninitialized-memory=nan fills it with NaN instead of zeros)",
    )


def add_compatible_option(parser: argparse.ArgumentParser) -> None:
    """--compatible, for the verbs whose runs are the user's results."""
    parser.add_argument(
        "--compatible",
        action="store_true",
        help="seed python, numpy and torch so that they give what random.seed, np.random.seed and "
        "torch.manual_seed give for that seed, as in results that were published",
    )


def add_launch_options(parser: argparse.ArgumentParser) -> None:
    """--timeout and --scratch, for the verbs that start a command."""
    add_timeout_option(parser)
    parser.add_argument(
        "--scratch", action="store_true", help="run in a fresh copy of the working directory each time"
    )


def add_timeout_option(parser: argparse.ArgumentParser) -> None:
    """--timeout alone, for a verb that copies the working directory anyway."""
    parser.add_argument(
        "--timeout", type=parse_seconds, default=None, metavar="SECONDS", help="end a run that takes longer"
    )


def add_steps_option(parser: argparse.ArgumentParser, least: int = 1) -> None:
    """--steps, for the verbs whose runs may stop early."""
    parser.add_argument(
        "--steps", type=parse_at_least(least), metavar="N", help="stop each run after N steps"
    )


def check_control_options(options: argparse.Namespace, verb: str) -> None:
    """Raise UsageError for a seed, a mode, a source or --compatible where nothing is controlled."""
    asked = {"seed": "--seed", "mode": "--mode", "extra": "--control", "compatible": "--compatible"}
    words = [word for name, word in asked.items() if getattr(options, name, None) not in (None, False, [])]
    if words and not options.controlled:
        word = words[0]
        raise UsageError(
            f"{word} controls the sources, and {verb} leaves them alone; add --controlled, or leave it out"
        )


def asked_control(options: argparse.Namespace) -> Control | None:
    """The control of --controlled; None without it."""
    return choose_control(options) if options.controlled else None


def choose_control(options: argparse.Namespace) -> Control:
    """The control that --seed, --mode and --control ask for, or [tool.samerun]; the sources of both.

    Raises UsageError for a source that is not there, and what `settings` raises.
    """
    from samerun.cli.controls import choose_sources
    from samerun.cli.settings.files import read_settings

    kept = read_settings(Path.cwd())
    kept_ids, kept_fill = choose_sources(kept.control, kept.name_key("control"))
    ids, fill = choose_sources(options.extra)
    return Control(
        mode=options.mode or kept.mode or "strict",
        seed=next((seed for seed in (options.seed, kept.seed) if seed is not None), 0),
        extra=tuple(dict.fromkeys((*ids, *kept_ids))),
        fill=fill or kept_fill,
        compatible=getattr(options, "compatible", False),
    )


def seed(text: str) -> int:
    """A seed: an integer from 0 to 2**64 - 1."""
    value = _number(text)
    if not 0 <= value < 2**64:
        raise argparse.ArgumentTypeError(f"{value} is not a seed; give an integer from 0 to 2**64 - 1")
    return value


def parse_at_least(least: int) -> Callable[[str], int]:
    """The type of an option that takes an integer of `least` or more."""

    def check(text: str) -> int:
        value = _number(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too few; give {least} or more")
        return value

    return check


def parse_seconds(text: str) -> float:
    """A positive, finite number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds; give one above 0, such as 600"
        )
    return value


def ids(text: str) -> tuple[str, ...]:
    """The ids of a list with commas."""
    return tuple(part for part in (part.strip() for part in text.split(",")) if part)


def parse_duration(text: str) -> float:
    """Seconds, or with a letter: 90, 90s, 10m, 1.5h."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    unit = units.get(text[-1:])
    try:
        return parse_seconds(text if unit is None else text[:-1]) * (unit or 1.0)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; give one such as 90, 10m or 1h") from None


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None
