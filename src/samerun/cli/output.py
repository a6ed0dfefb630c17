"""Where a result goes, and in which form: --format, --json, --html, --junit, --patch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from samerun.experiments.check.result import CheckResult
    from samerun.experiments.diagnose.result import Diagnosis
    from samerun.runs.store import Run, Store


_ONE_LINE = 1000  # columns: enough for the verdict
_REPORTS = {
    "html": "write a report for people, one HTML file",
    "junit": "write the verdict for a CI system, as JUnit XML",
}


def add_output_options(parser: argparse.ArgumentParser, *reports: str) -> None:
    """--json, and those of `reports` ("html", "junit") that the verb can write."""
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON too; - for standard output")
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "github"),
        default="text",
        help="text; Markdown; or text with a note at the line, and Markdown in the job's summary, for GitHub",
    )
    for report in reports:
        parser.add_argument(f"--{report}", metavar="FILE", help=_REPORTS[report])


def check_targets(options: argparse.Namespace) -> None:
    """Refuse files that cannot be written before hours are spent on what goes into them."""
    from samerun.report.json import check_target

    for option in ("json", "patch"):
        check_target(getattr(options, option, None), f"--{option}")
    for option in _REPORTS:
        check_file(getattr(options, option, None), f"--{option}")


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
    from samerun.experiments.diagnose.from_recorded import build_diagnosis
    from samerun.experiments.diagnose.result import Diagnosis
    from samerun.experiments.lookup import Lookup
    from samerun.report import html, junit

    lookup = Lookup(store, runs)
    diagnosis = result if isinstance(result, Diagnosis) else build_diagnosis(result, lookup)
    if options.html is not None:
        html.write(diagnosis, lookup, options.html)
    if options.junit is not None:
        junit.write(diagnosis, lookup, options.junit)


def put_out(
    show: Callable[[Console], None], to_json: Callable[[], Mapping[str, Any]], options: argparse.Namespace
) -> None:
    """Show a result in the form of --format, and write it as JSON where --json asks for it.

    With JSON or a patch on standard output the text goes to standard error.
    """
    from samerun.report import github, markdown
    from samerun.report.console import make_console
    from samerun.report.json import write_json
    from samerun.report.text.plain_text import render_text

    taken = "-" in (options.json, getattr(options, "patch", None))
    console = make_console(sys.stderr if taken else sys.stdout)
    if options.format == "markdown":
        console.file.write(markdown.render(show))
    else:
        show(console)
    if options.format == "github":
        console.file.write(github.write_annotation(to_json(), render_text(show, _ONE_LINE)))
        github.add_to_summary(markdown.render(show))
    if options.json is not None:
        write_json(to_json(), options.json)
