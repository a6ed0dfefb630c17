"""`samerun --print-completion SHELL`: what a shell needs to complete verbs and options."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from samerun.cli.base import Verb

SHELLS = ("bash", "zsh", "tcsh")


def write_completion(shell: str, parser: argparse.ArgumentParser, verbs: Mapping[str, Verb]) -> str:
    """The script for one of SHELLS; `parser`, that of the first words, gets the verbs as sub-parsers."""
    import shtab

    parsers = parser.add_subparsers()
    for verb in verbs.values():
        verb.add_options(parsers.add_parser(verb.name, help=verb.summary))
    script: str = shtab.complete(parser, shell)
    # What follows -- is a command: bash completes its files.
    return script.replace("complete -o bashdefault -F", "complete -o bashdefault -o default -F")
