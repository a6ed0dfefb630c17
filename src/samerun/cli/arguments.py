"""From the words of a command line to a verb and its options."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from samerun.cli.base import Verb
from samerun.cli.settings.files import Settings, read_settings
from samerun.errors import UsageError

DESCRIPTION = (
    "Run it twice, get the same bits. When you don't, samerun names the line, the operation and why."
)
EXAMPLE = "samerun check -- python train.py"
STEPS = "samerun check --steps 3 -- python train.py"
FIRST = f"""\
say what to do; these three matter most:

  {STEPS}   do runs give the same bits? if not, where and why; in seconds
  samerun diagnose -- python train.py          every reason, each one proved, and a patch
  samerun run -- python train.py               repeatable, with no edit to the script

all verbs: samerun --help; one of them: samerun check --help"""


class Parser(argparse.ArgumentParser):
    """argparse, except that a mistake is a UsageError that shows an example."""

    example = EXAMPLE

    def error(self, message: str) -> NoReturn:
        """Raise the mistake, with what to do next."""
        near = self._find_nearest(message)
        meant = f"; did you mean {near}?" if near else ""
        raise UsageError(f"{message}{meant}; for example: {self.example} (more: {self.prog} --help)")

    def _find_nearest(self, message: str) -> str | None:
        """The option most like the first that is not known, where the mistake is such a one."""
        from difflib import get_close_matches

        _, _, words = message.partition("unrecognized arguments: ")
        if not words.startswith("--"):
            return None
        known = [name for action in self._actions for name in action.option_strings]
        return next(iter(get_close_matches(words.split()[0].partition("=")[0], known, n=1)), None)


def find_verbs() -> dict[str, Verb]:
    """Every verb by its name: each module of this package that defines one."""
    import samerun.cli as package

    found: dict[str, Verb] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        for value in vars(importlib.import_module(f"{package.__name__}.{info.name}")).values():
            if isinstance(value, type) and issubclass(value, Verb) and "name" in vars(value):
                found[value.name] = value()
    return dict(sorted(found.items()))


def parse(words: Sequence[str], verbs: dict[str, Verb]) -> tuple[Verb, argparse.Namespace]:
    """The verb and its options. Raises UsageError, or SystemExit(0) after --help and --version."""
    top = _build_top_parser(verbs)
    if not words:
        raise UsageError(FIRST)
    if words[0] == "help":  # as git has it
        words = [*words[1:2], "--help"]
    head = words[0]
    if head.startswith("-") and head != "--":
        top.parse_args(words)  # --help and the like end here; the rest is a mistake
    if head not in verbs:
        _refuse_verb(head, words, verbs)
    verb = verbs[head]
    parser = _build_verb_parser(verb)
    if verb.may_take_command:
        return verb, _parse_before_command(words[1:], parser)
    if not verb.takes_command:
        return verb, parser.parse_args(list(words[1:]))
    own, command = _split_words(words[1:], parser)
    options = parser.parse_args(own)
    kept = read_settings(Path.cwd())
    _fill_in(options, kept, parser)
    options.command = _check_command(command, own, parser) if command else kept.find_command()
    if not options.command:
        parser.error("no command to run; put it after --")
    return verb, options


def _build_top_parser(verbs: dict[str, Verb]) -> Parser:
    width = max(map(len, verbs), default=0)
    listed = "\n".join(f"  {name:<{width}}  {verb.summary}" for name, verb in verbs.items())
    parser = Parser(
        prog="samerun",
        usage="samerun VERB [options] [-- COMMAND]",
        description=DESCRIPTION,
        epilog=f"verbs:\n{listed}\n\nexamples:\n  {STEPS}  # three steps: in seconds\n  {EXAMPLE}\n\n"
        "exit codes: 0 same, 1 differs, 2 wrong usage, 3 unknown, 4 stale (verify); "
        "`samerun run` exits as its command does",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    parser.add_argument(
        "--print-completion",
        action=_Completion,
        choices=("bash", "zsh", "tcsh"),
        help='print what completes verbs and options in a shell: eval "$(samerun --print-completion bash)"',
    )
    return parser


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: importlib.metadata is slow to import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"samerun {version('samerun')}")
        parser.exit(0)


class _Completion(argparse.Action):
    """Imports what it needs only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, _: object, value: object, *__: object) -> NoReturn:
        import shtab

        parsers = parser.add_subparsers()
        for verb in find_verbs().values():
            verb.add_options(parsers.add_parser(verb.name, help=verb.summary))
        script = shtab.complete(parser, str(value))
        # What follows -- is a command: bash completes its files.
        print(script.replace("complete -o bashdefault -F", "complete -o bashdefault -o default -F"))
        parser.exit(0)


def _refuse_verb(head: str, words: Sequence[str], verbs: dict[str, Verb]) -> NoReturn:
    from difflib import get_close_matches

    known = ", ".join(verbs)
    if head == "--":
        rest = " ".join(words[1:]) or "python train.py"
        raise UsageError(f"no verb before --; for example: samerun check -- {rest} (verbs: {known})")
    near = get_close_matches(head, verbs, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"there is no verb {head!r}; {meant}verbs: {known}; for example: {EXAMPLE}")


def _build_verb_parser(verb: Verb) -> Parser:
    parser = Parser(
        prog=f"samerun {verb.name}",
        usage=f"samerun {verb.name} {verb.usage}",
        description=verb.summary[0].upper() + verb.summary[1:] + ".",
        epilog=f"example:\n  {verb.example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.example = verb.example
    verb.add_options(parser)
    return parser


def _parse_before_command(words: Sequence[str], parser: Parser) -> argparse.Namespace:
    """The options, with the command after `--`, or an empty one where there is no `--`."""
    at = words.index("--") if "--" in words else len(words)
    own, command = list(words[:at]), list(words[at + 1 :])
    options = parser.parse_args(own)
    options.command = _check_command(command, own, parser) if at < len(words) else []
    return options


def _split_words(words: Sequence[str], parser: argparse.ArgumentParser) -> tuple[list[str], list[str]]:
    """(samerun's own options, the command): the command begins after `--`, or at the first other word."""
    takes_value = {name for action in parser._actions if action.nargs != 0 for name in action.option_strings}
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return list(words[:at]), list(words[at + 1 :])
        if not word.startswith("-"):
            break
        at += 2 if word in takes_value else 1
    return list(words[:at]), list(words[at:])


def _fill_in(options: argparse.Namespace, kept: Settings, parser: Parser) -> None:
    """Give options that the command line leaves open what [tool.samerun] keeps of them."""
    for key in ("runs", "steps"):
        value = getattr(kept, key)
        action = next((action for action in parser._actions if action.dest == key), None)
        if action is None or value is None or getattr(options, key) is not None:
            continue
        try:
            setattr(options, key, parser._get_value(action, str(value)))
        except argparse.ArgumentError as error:
            raise UsageError(f"{kept.name_key(key)} is {value}, for {parser.prog}: {error.message}") from None


def _check_command(command: list[str], own: list[str], parser: Parser) -> list[str]:
    if not command:
        parser.error("no command to run; put it after --")
    if command[0].startswith("-"):
        parser.error(
            f"the command begins with {command[0]!r}, which is an option; "
            "options of samerun go before --, the command after it"
        )
    if not command[0]:
        parser.error("the command is empty")
    return command
