"""`samerun diff`: compares two recorded runs."""

from __future__ import annotations

import argparse

from samerun.cli import exit_codes
from samerun.cli.base import Verb
from samerun.cli.output import add_output_options, check_targets, put_out, write_files
from samerun.cli.store import open_store


class Diff(Verb):
    """Compare two runs on disk, from one machine or two."""

    name = "diff"
    summary = "compare two recorded runs and explain their first difference"
    example = "samerun diff last~1 last"
    usage = "[options] RUN RUN"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("a", metavar="RUN", help="an id, the start of one, a folder, last or last~1")
        parser.add_argument("b", metavar="RUN", help="the run to compare it with")
        add_output_options(parser, "html", "junit")

    def run(self, options: argparse.Namespace) -> int:
        """Compare, report, and exit by the verdict."""
        from samerun.experiments.check.diff import diff
        from samerun.report.text.check import show

        check_targets(options)
        store = open_store()
        runs = [store.find(name) for name in (options.a, options.b)]
        result = diff(store, runs)
        put_out(lambda console: show(result, console), result.to_json, options)
        write_files(result, options, store, runs)
        return exit_codes.OF_VERDICT[result.verdict]
