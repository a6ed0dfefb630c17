"""Runs one test in several fresh processes by the engine of `check`, and says whether it is repeatable.

Compared are: how it ended; every record of what torch did; the results that it printed; and, of the
global generators and of NumPy's that were there before it, the state in which it left those that it changed,
which stands for the values that it drew.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from samerun.experiments.check.check import check
from samerun.experiments.check.result import CheckResult
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.printed_results import find_differing_results
from samerun.experiments.request import Request
from samerun.experiments.run_outcome import read_last_lines
from samerun.experiments.runner import Runner
from samerun.integrations.pytest_plugin.observed import Observed, read_observed
from samerun.report.text.first_difference import write_headline
from samerun.report.text.plain_text import render_plain
from samerun.report.text.shown_code import call_site
from samerun.runs.plan import Control
from samerun.runs.recorder_errors import explain_broken
from samerun.runs.store import ROOT, Run, Store
from samerun.runs.transient_text import strip_transient
from samerun.sources.catalogue import find_sources

_WIDTH = 100


@dataclass(frozen=True)
class Repeated:
    """What so many runs of a test came to."""

    verdict: Literal["same", "differs", "unknown"]
    why: str = ""  # one line; "" where they are the same
    text: str = ""  # the report of the engine, where it has one
    first: Observed | None = None  # how the first run ended
    kept: Path | None = None  # the folder that holds the runs


def repeat_test(
    build: Callable[[Path], tuple[str, ...]], folder: Path, runs: int, control: Control | None
) -> Repeated:
    """Run the command that `build` gives for a folder of observations, in `folder`, and compare.

    The runs are kept among the temporary files unless they are the same. Raises what `check` raises.
    """
    root = Path(tempfile.mkdtemp(prefix="samerun-"))
    found = Repeated("unknown")
    try:
        request = Request(
            build(root / "observed"),
            folder,
            Store(root / ROOT),
            runs=runs,
            control=control,
            confirm=False,
        )
        runner = Runner()
        result = check(request, runner)
        recorded = [runner.recorded[run] for run in result.runs]
        seen = [read_observed(root / "observed" / f"{run.id}.json") for run in recorded]
        found = _judge(result, recorded, seen)
    finally:
        if found.verdict == "same":
            shutil.rmtree(root, ignore_errors=True)
    return found if found.verdict == "same" else replace(found, kept=root)


def _judge(result: CheckResult, runs: Sequence[Run], seen: Sequence[Observed | None]) -> Repeated:
    observed = [item for item in seen if item is not None]
    if not observed:
        lines = "\n".join(read_last_lines(runs))
        return Repeated("unknown", "no fresh process ran it: it is not found by its name there", lines)
    ended = [run for run, item in zip(runs, seen, strict=True) if item is None or item.outcome == "begun"]
    first = next((item for item in observed if item.outcome != "begun"), None)
    if first is None:
        lines = "\n".join(read_last_lines(runs))
        return Repeated("unknown", f"{_describe_end(ended[0])} before the test was over, in each run", lines)
    if ended:
        why = f"in one run {_describe_end(ended[0])} before the test was over"
        return Repeated("differs", why, first=first)
    return (
        _compare_endings(observed)
        or _report_first_difference(result, first)
        or _compare_effects(observed, runs)
        or _find_doubt(result, runs, first)
        or Repeated("same", first=first)
    )


def _describe_end(run: Run) -> str:
    code = run.manifest.exit_code
    if code is None:
        return "its process ended"
    if code < 0:
        return f"its process was ended by signal {-code}"
    return f"its process ended with exit code {code}"


def _compare_endings(observed: Sequence[Observed]) -> Repeated | None:
    first = observed[0]
    for number, other in enumerate(observed[1:], 2):
        if other.ending != first.ending:
            why = f"{first.ending} in run 1, {other.ending} in run {number}{_quote(first, other)}"
            return Repeated("differs", why, first.text or other.text, first)
    return None


def _report_first_difference(result: CheckResult, first: Observed) -> Repeated | None:
    """Where the records differ."""
    if result.verdict != "differs":
        return None
    report = Diagnosis(replace(result, command=()))  # no one types this command
    return Repeated("differs", _explain(result), render_plain(report, _WIDTH), first)


def _compare_effects(observed: Sequence[Observed], runs: Sequence[Run]) -> Repeated | None:
    """Where the records are the same: the messages of failures, what was printed, what was drawn."""
    first = observed[0]
    for number, other in enumerate(observed[1:], 2):
        if strip_transient(other.message) != strip_transient(first.message):
            why = f"{first.ending} with another message in run {number}{_quote(first, other)}"
            return Repeated("differs", why, first.text, first)
    printed = find_differing_results(runs)
    if printed is not None:
        return Repeated("differs", f"run 1 prints {printed.one!r}, another {printed.other!r}", first=first)
    drawn = _find_differing_draws(observed)
    return None if drawn is None else Repeated("differs", drawn, first=first)


def _find_doubt(result: CheckResult, runs: Sequence[Run], first: Observed) -> Repeated | None:
    """Why runs in which nothing differs are not known to be the same."""
    broken = next((reason for run in runs if (reason := explain_broken(run.path)) is not None), None)
    if broken is not None:
        return Repeated("unknown", f"the record is not whole: {broken}", first=first)
    if result.verdict == "unknown" and result.steps and first.outcome == "passed":
        return Repeated("unknown", result.reason or "", first=first)
    return None


def _explain(result: CheckResult) -> str:
    assert result.difference is not None
    where = call_site(result.difference) or write_headline(result.difference)
    what = result.difference.op or result.difference.what
    if not result.causes:
        return f"{what} differs ({where})"
    best = result.causes[0]
    likely = "" if best.confirmed else "likely "
    return f"{likely}{best.source}: {best.evidence} ({best.call_site or where})"


def _find_differing_draws(observed: Sequence[Observed]) -> str | None:
    """Of the generators that a run changed, the first that is not left alike in all of them."""
    first = observed[0].drawn
    for id_ in find_sources():
        if any(other.drawn.get(id_) != first.get(id_) for other in observed[1:]):
            return f"{id_}: the values that it drew differ, since nothing had seeded it"
    return None


def _quote(*observed: Observed) -> str:
    said = next((item.message.strip().splitlines() for item in observed if item.outcome == "failed"), [])
    return f": {said[0]}" if said else ""
