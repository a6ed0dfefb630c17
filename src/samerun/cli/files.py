"""The reports that go to files: `--html` and `--junit`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from samerun.errors import UsageError

if TYPE_CHECKING:
    from samerun.experiments.check.result import CheckResult
    from samerun.experiments.diagnose.result import Diagnosis
    from samerun.runs.store import Run, Store


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """--html and --junit, for the verbs that have a verdict."""
    parser.add_argument("--html", metavar="FILE", help="write a report for people, one HTML file")
    parser.add_argument("--junit", metavar="FILE", help="write the verdict for a CI system, as JUnit XML")


def check_files(options: argparse.Namespace) -> None:
    """Refuse files that cannot be written before hours are spent on what goes into them."""
    for option in ("html", "junit"):
        check_file(getattr(options, option), f"--{option}")


def check_file(target: str | None, option: str) -> None:
    """Refuse one file that cannot be written."""
    from samerun.report.json import check_target

    if target == "-":
        raise UsageError(f"{option} -: this report goes to a file; name one, such as {option} report.html")
    check_target(target, option)


def write_files(
    result: CheckResult | Diagnosis, options: argparse.Namespace, store: Store, runs: Sequence[Run] = ()
) -> None:
    """Write what --html and --junit ask for. `runs` are those of the result that are not in the store."""
    if options.html is None and options.junit is None:
        return
    from samerun.experiments.diagnose.from_recorded import diagnosis_from
    from samerun.experiments.diagnose.result import Diagnosis
    from samerun.experiments.lookup import Lookup
    from samerun.report import html, junit

    lookup = Lookup(store, runs)
    diagnosis = result if isinstance(result, Diagnosis) else diagnosis_from(result, lookup)
    if options.html is not None:
        html.write(diagnosis, lookup, options.html)
    if options.junit is not None:
        junit.write(diagnosis, lookup, options.junit)
