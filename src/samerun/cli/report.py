"""`samerun report`: makes one HTML file of what recorded runs show."""

from __future__ import annotations

import argparse

from samerun.cli import exit_codes
from samerun.cli.base import Verb
from samerun.cli.output import check_file
from samerun.cli.settings.store import open_store

_FILE = "samerun-report.html"


class Report(Verb):
    """Show one diagnosis, or hold runs against each other, in a page to read and to pass on."""

    name = "report"
    summary = "make one HTML report of recorded runs, to read and to pass on"
    example = "samerun report last~1 last -o report.html"
    usage = "[-o FILE] RUN ..."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "runs", nargs="+", metavar="RUN", help="an id, the start of one, a folder, last or last~1"
        )
        parser.add_argument("-o", dest="file", default=_FILE, metavar="FILE", help=f"default {_FILE}")

    def run(self, options: argparse.Namespace) -> int:
        """Write the file, and say where it is and what it shows."""
        check_file(options.file, "-o")
        from samerun.experiments.diagnose.from_recorded import diagnose_runs
        from samerun.experiments.lookup import Lookup
        from samerun.report import html

        store = open_store()
        runs = [store.find(name) for name in options.runs]
        diagnosis = diagnose_runs(runs, store)
        html.write(diagnosis, Lookup(store, runs), options.file, "-o")
        print(f"wrote {options.file}")
        return exit_codes.SAME
