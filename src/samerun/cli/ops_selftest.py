"""`samerun ops-selftest`: do the operations that samerun replaces repeat themselves on this machine?"""

from __future__ import annotations

import argparse

from samerun.cli import exit_codes
from samerun.cli.base import Verb, parse_at_least


class OpsSelftest(Verb):
    """Run each operation many times on this machine's devices, and compare the bits."""

    name = "ops-selftest"
    summary = "run each of samerun's own operations many times on this machine, and compare the bits"
    example = "samerun ops-selftest --runs 200"
    usage = "[options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--runs",
            type=parse_at_least(2),
            default=50,
            metavar="N",
            help="how often each is run (default 50)",
        )

    def run(self, options: argparse.Namespace) -> int:
        """Run, print a line for each operation, and exit with 1 when one differs, 3 when one failed."""
        from samerun.ops.selftest import run_selftest

        code = exit_codes.SAME
        for outcome in run_selftest(options.runs):
            if outcome.error is not None:
                said = f"could not be computed: {outcome.error}"
                code = code or exit_codes.UNKNOWN
            elif outcome.repeats:
                said = "same"
            else:
                said = f"differs: {outcome.results} results"
                code = exit_codes.DIFFERS
            print(f"{outcome.name:36} {outcome.device:5} {outcome.runs:5} runs  {said}", flush=True)
        return code
