"""`samerun env`: describes every source on this machine, now."""

from __future__ import annotations

import argparse

from samerun import torch_version
from samerun.cli import exit_codes
from samerun.cli.base import Verb
from samerun.cli.stderr import say


class Env(Verb):
    """Ask each source what it is set to."""

    name = "env"
    summary = "describe every source of difference on this machine, now"
    example = "samerun env --json env.json"
    usage = "[options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--json", metavar="FILE", help="write it as JSON instead; - for standard output")

    def run(self, options: argparse.Namespace) -> int:
        """Describe, and print or write."""
        from samerun.experiments.describe_sources import convert_to_json, describe_sources
        from samerun.report.json import check_target, write_json

        check_target(options.json)
        described = describe_sources()
        why = torch_version.unusable()
        if why is not None:
            say(f"the sources of torch are not described in full: {why}")
        if options.json is not None:
            write_json(convert_to_json(described), options.json)
            return exit_codes.SAME
        from samerun.report.console import make_console
        from samerun.report.text.environment import show

        show(described, make_console())
        return exit_codes.SAME
