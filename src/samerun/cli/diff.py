"""`samerun diff`: compares two recorded runs, or two checkpoints or files of tensors."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.cli import exit_codes
from samerun.cli.base import Verb
from samerun.cli.output import add_output_options, check_targets, put_out, write_files
from samerun.cli.settings.store import open_store
from samerun.errors import RunNotFound, UsageError

if TYPE_CHECKING:
    from samerun.runs.store import Run, Store


class Diff(Verb):
    """Compare two runs on disk, from one machine or two; or two files that runs saved."""

    name = "diff"
    summary = "compare two recorded runs and explain their first difference, or compare two checkpoints"
    example = "samerun diff last~1 last"
    usage = "[options] RUN RUN | FILE FILE"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "a",
            metavar="RUN",
            help="an id, the start of one, a folder, last or last~1; or a file or folder of tensors",
        )
        parser.add_argument("b", metavar="RUN", help="the run, or the file, to compare it with")
        add_output_options(parser, "html", "junit")

    def run(self, options: argparse.Namespace) -> int:
        """Compare, report, and exit by the verdict."""
        check_targets(options)
        store = open_store()
        found = [_find(store, name) for name in (options.a, options.b)]
        runs = [item for item in found if not isinstance(item, Path)]
        if len(runs) == len(found):
            return _diff_runs(store, runs, options)
        if runs:
            run, file = (options.a, options.b) if isinstance(found[1], Path) else (options.b, options.a)
            if Path(file).is_dir():
                store.find(file)  # raises, and says what a run is
            raise UsageError(f"{run} is a run and {file} is a file; compare two runs, or two files")
        return _diff_files(Path(options.a), Path(options.b), options)


def _find(store: Store, name: str) -> Run | Path:
    """The run of that name; where there is none, the file. Raises RunNotFound for neither."""
    try:
        return store.find(name)
    except RunNotFound:
        if os.path.lexists(name):
            return Path(name)
        raise


def _diff_runs(store: Store, runs: list[Run], options: argparse.Namespace) -> int:
    from samerun.experiments.check.diff import diff
    from samerun.report.text.check import show

    result = diff(store, runs)
    put_out(lambda console: show(result, console), result.to_json, options)
    write_files(result, options, store, runs)
    return exit_codes.OF_VERDICT[result.verdict]


def _diff_files(a: Path, b: Path, options: argparse.Namespace) -> int:
    from samerun.comparing.compare_files import compare_files
    from samerun.report.text.files import show

    for report in ("html", "junit"):
        if getattr(options, report) is not None:
            raise UsageError(f"--{report} shows runs, and these are files; leave it out, or use --json FILE")
    found = compare_files(a, b)
    put_out(lambda console: show(found, console), found.to_json, options)
    return exit_codes.OF_VERDICT[found.verdict]
