"""`samerun runs`: lists, shows and removes recorded runs."""

from __future__ import annotations

import argparse

from samerun.cli import exit_codes
from samerun.cli.base import Verb
from samerun.cli.settings.store import open_store
from samerun.errors import UsageError


class Runs(Verb):
    """Look after the runs on disk."""

    name = "runs"
    summary = "list, show or remove recorded runs"
    example = "samerun runs list"
    usage = "[list | show RUN | remove RUN ...]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "action", nargs="?", choices=("list", "show", "remove"), default="list", help="default: list"
        )
        parser.add_argument(
            "ids", nargs="*", metavar="RUN", help="an id, the start of one, a folder, last or last~1"
        )

    def run(self, options: argparse.Namespace) -> int:
        """Do one of the three."""
        from samerun.report.console import make_console
        from samerun.report.text import runs as report

        store = open_store()
        _check_count(options.action, len(options.ids))
        if options.action == "list":
            report.show_list(store.list(), make_console())
        elif options.action == "show":
            report.show_one(store.find(options.ids[0]), make_console())
        else:
            found = [store.find(run) for run in options.ids]  # all of them, before the first is gone
            for run in found:
                store.remove(run)
                print(f"removed {run.id}")
        return exit_codes.SAME


def _check_count(action: str, count: int) -> None:
    if action == "list" and count:
        raise UsageError("runs list takes no run; for one of them: samerun runs show RUN")
    if action == "show" and count != 1:
        raise UsageError(f"runs show takes one run, not {count}; list them with: samerun runs list")
    if action == "remove" and not count:
        raise UsageError("runs remove takes at least one run; list them with: samerun runs list")
