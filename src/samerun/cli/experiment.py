"""What the verbs that make an experiment with a command have in common."""

from __future__ import annotations

import argparse
import importlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samerun.cli import exit_codes
from samerun.cli.base import Verb, check_control_options
from samerun.cli.output import check_targets, put_out
from samerun.cli.settings.store import store_to_record
from samerun.cli.stderr import say

if TYPE_CHECKING:
    from rich.console import Console

    from samerun.experiments.request import Request
    from samerun.experiments.runner import Runner
    from samerun.report.safe_text import Line
    from samerun.runs.plan import Control


class ExperimentVerb(Verb):
    """Checks what can be checked at once, makes the experiment, reports its result, and exits by it.

    A result has `to_json()` and, unless `exit_code` is overridden, a `verdict`. It is shown by
    report/text/<name>.py and, for verbs with --html alone, by report/html/pages/<name>.py.
    """

    usage = "[options] -- COMMAND"
    takes_command = True

    def run(self, options: argparse.Namespace) -> int:
        """Do all of this; after Ctrl-C say what is kept."""
        self.check_options(options)
        check_targets(options)
        request = self.request(options)
        from samerun.experiments.runner import Runner
        from samerun.report.progress import Progress

        progress = Progress(interim=self.list_so_far)
        try:
            with progress:
                result = self.experiment(request, options, Runner(progress))
        except KeyboardInterrupt:
            say(f"interrupted; {self.kept(request, progress.runs)}")
            return exit_codes.INTERRUPTED
        put_out(lambda console: self.show(result, options, console), result.to_json, options)
        self.write_files(result, options, request)
        return self.exit_code(result)

    def check_options(self, options: argparse.Namespace) -> None:
        """Raise UsageError for options that contradict each other."""
        if "controlled" in options:
            check_control_options(options, self.name)

    @abstractmethod
    def request(self, options: argparse.Namespace) -> Any:
        """What the options ask for. Raises UsageError for what cannot be."""

    @abstractmethod
    def experiment(self, request: Any, options: argparse.Namespace, runner: Runner) -> Any:
        """Make the experiment and return its result."""

    def kept(self, request: Any, runs: Mapping[str, str]) -> str:
        """What there is on disk after Ctrl-C; `runs`: id to outcome."""
        if not runs:
            return "no run was recorded"
        listed = ", ".join(f"{run} ({outcome})" for run, outcome in runs.items())
        whole = [run for run, outcome in runs.items() if outcome == "finished"][:2]
        known = f"; what the first two say: samerun diff {' '.join(whole)}" if len(whole) > 1 else ""
        return f"runs kept in {request.store.runs}: {listed}{known}"

    def show(self, result: Any, options: argparse.Namespace, console: Console) -> None:
        """Print the result as text."""
        importlib.import_module(f"samerun.report.text.{self.name}").show(result, console)

    def list_so_far(self, result: Any) -> Iterable[Line]:
        """The lines of a result that is not final, shown while the verb is at work."""
        return ()

    def write_files(self, result: Any, options: argparse.Namespace, request: Any) -> None:
        """Write what was asked for besides --json."""
        if getattr(options, "html", None) is not None:
            from samerun.report.html.pages import experiment

            page = importlib.import_module(f"samerun.report.html.pages.{self.name}").build_page(result)
            experiment.write(page, options.html)

    def exit_code(self, result: Any) -> int:
        """The exit code that the result stands for."""
        return exit_codes.OF_VERDICT[result.verdict]


def request_of(
    options: argparse.Namespace,
    control: Control | None,
    *,
    runs: int = 2,
    confirm: bool = True,
    up_to: int | None = None,
    ignoring: bool = False,
) -> Request:
    """The request of a verb, from the options that all of them have.

    With `ignoring`, for verbs that report what they left out, what the settings ignore is not compared.
    """
    from samerun.experiments.request import Request

    return Request(
        command=tuple(options.command),
        folder=Path.cwd(),
        store=store_to_record(ignoring=ignoring),
        runs=runs,
        up_to=up_to,
        steps=options.steps,
        control=control,
        confirm=confirm,
        timeout=options.timeout,
        scratch=options.scratch,
    )
