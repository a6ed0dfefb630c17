"""What counts of whole runs: what the user has of them, which is their results as well as their records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from samerun.comparing.comparison import Comparison
from samerun.comparing.describing.result_difference import describe_result
from samerun.comparing.pairing import RecordedRun, read
from samerun.comparing.unexplained_inputs import describe_unexplained
from samerun.comparing.without_effect import (
    count_made,
    describe_order_of_processes,
    describe_order_of_threads,
    describe_without_effect,
    find_row,
    train_in_pool,
    train_in_threads,
    trained_alike,
)
from samerun.editing.index import index
from samerun.editing.user_program import Code
from samerun.experiments.one_sided_results import describe_one_sided, find_one_sided, find_unmatched
from samerun.experiments.printed_results import (
    describe_left_out,
    find_differing_results,
    list_ignored_results,
    print_alike,
)
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.written_results import (
    describe_unjudged,
    find_differing_value,
    has_same_files,
    list_ignored_values,
    list_unread,
)
from samerun.runs.difference import Difference
from samerun.runs.ignored import describe_left_out as describe_left_out_names
from samerun.runs.manifest import Manifest
from samerun.runs.source_lines import parse_site
from samerun.runs.store import Run
from samerun.sources import code


def weigh(
    runs: Sequence[Run], comparisons: Sequence[Comparison], *, recorded_apart: bool = False
) -> list[Comparison]:
    """The comparisons of each run with the first, the results of whole runs counted in.

    Runs that are equal in every record differ where a result that they print or write is not the same. Those
    that are equal in their results and in all that the training made are the same, whatever else differs.
    """
    weighed = [
        _weigh(runs[0], run, item, recorded_apart) for run, item in zip(runs[1:], comparisons, strict=True)
    ]
    if not runs[0].ignored:
        return weighed
    return [_tell_ignored(runs[0], run, item) for run, item in zip(runs[1:], weighed, strict=True)]


def _tell_ignored(a: Run, b: Run, comparison: Comparison) -> Comparison:
    """With what was not compared, since its user ignores it: results too."""
    results = [item for run in (a, b) for item in (*list_ignored_results(run), *list_ignored_values(run))]
    left_out = tuple(dict.fromkeys((*comparison.left_out, *results)))
    notes = tuple(dict.fromkeys((*comparison.notes, *describe_left_out_names(left_out))))
    return replace(comparison, left_out=left_out, notes=notes)


def _weigh(a: Run, b: Run, comparison: Comparison, apart: bool) -> Comparison:
    if not a.outcome == b.outcome == "finished":
        return comparison  # one that was stopped was in the middle of what it prints
    if comparison.difference is not None:
        return _leave_out_without_effect(a, b, comparison, comparison.difference, apart)
    if comparison.verdict != "same":
        return comparison
    found = find_result_difference(a, b, recorded_apart=apart)
    if found is None:
        return replace(comparison, unjudged=list_unjudged(a, b))
    difference, note = found
    unseen = describe_unexplained(read(a))  # that it made no difference is no longer true
    notes = (*(item for item in comparison.notes if item != unseen), note)
    return replace(comparison, verdict="differs", difference=difference, notes=notes)


def _leave_out_without_effect(
    a: Run, b: Run, comparison: Comparison, first: Difference, apart: bool
) -> Comparison:
    recorded = read(a)
    # One process of a pool does what another did, and ends later.
    shorter = first.kind == "ended" and not train_in_pool(recorded)
    if _is_nan_after(comparison, first):  # which is equal whatever went into it
        return comparison
    if shorter or list_unread((a, b), dated=False) or not trained_alike(recorded, read(b)):
        return comparison
    if find_result_difference(a, b, recorded_apart=apart) is not None:
        return comparison
    if train_in_threads(recorded):
        said = describe_order_of_threads()
    elif train_in_pool(recorded):
        said = describe_order_of_processes()
    else:
        said = describe_without_effect(first, first.call_site or _find_site(recorded, first))
    same = replace(count_made(comparison), verdict="same", difference=None)
    return replace(same, notes=(said,), unjudged=list_unjudged(a, b))


def _is_nan_after(comparison: Comparison, first: Difference) -> bool:
    losses = (loss for step, found in comparison.losses[0].items() if step >= first.step for loss in found)
    return any(map(math.isnan, losses))


def _find_site(recorded: RecordedRun, difference: Difference) -> str | None:
    """The line that took a batch, or the only one that makes a module of this class."""
    found = find_row(recorded, difference)
    if found is None:
        return None
    row, taken = found
    if taken is not None:
        return taken.call_site
    made = {
        file.site(call.lineno)
        for file in read_code(recorded).files
        for call in index(file).calls[row.name or ""]
    }
    return made.pop() if len(made) == 1 else None


def list_unjudged(a: Run, b: Run) -> tuple[str, ...]:
    """What to report of what two whole runs print and write, of which nothing says that it is a result."""
    of_one = describe_one_sided(find_one_sided(a, b)), describe_left_out((a, b))
    return *(note for note in of_one if note is not None), *describe_unjudged((a, b))


def find_result_difference(a: Run, b: Run, *, recorded_apart: bool = False) -> tuple[Difference, str] | None:
    """(the first result that differs between two whole runs, both of it in words); None where none does.

    `recorded_apart` as for `weigh`.
    """
    apart = recorded_apart and _is_other_code(a.manifest, b.manifest)
    if not apart and print_alike((a, b)) and has_same_files((a, b)):
        return None
    recorded = read(a), read(b)
    lines = PrintingLines(read_code(recorded[0]))
    printed = find_differing_results((a, b), lines)
    if printed is not None:
        line = lines.find(printed.one)
        site = None if line is None else line.site
        site_in, other_site = _find_whose(site, recorded)
        what, name, note = "printed", printed.one, f"run A prints {printed.one!r}, run B {printed.other!r}"
    else:
        value = find_differing_value((a, b), lines, any_order=apart)
        if value is None:
            return _find_one_sided_difference(recorded) if apart else None
        what, name, site = "written", f"{value.name} in {value.path}", value.site
        site_in, other_site = _find_whose(site, recorded) if value.as_now else ("a", value.other_site)
        note = f"run A writes {value.one!r} as {name}, run B {value.other!r}"
    difference = describe_result(recorded, what, name, site, site_in=site_in, other_site=other_site)
    return None if difference is None else (difference, note)


def _is_other_code(a: Manifest, b: Manifest) -> bool:
    one, other = (item.settings.get(code.Code.id, {}) for item in (a, b))
    return one != other or a.command != b.command


def _find_one_sided_difference(recorded: tuple[RecordedRun, RecordedRun]) -> tuple[Difference, str] | None:
    """The first result of run B alone, where run A alone has another one."""
    sides = find_one_sided(recorded[0].run, recorded[1].run)
    note = describe_one_sided(sides)
    if note is None:
        return None
    found = find_unmatched(sides, PrintingLines(read_code(recorded[1])))
    if found is None:
        return None
    difference = describe_result(recorded, found.what, found.name, found.site, site_in="b")
    return None if difference is None else (replace(difference, kind="flow", run="b"), note)


def _find_whose(site: str | None, runs: Sequence[RecordedRun]) -> tuple[Literal["a", "b"], str | None]:
    """(the run whose code has a line of the code of now, run B's line); it is A's where that is not known."""
    if site is None:
        return "a", None
    a, b = (code.judge_site(site, run.run.manifest.settings, runs[0].run.manifest.cwd) for run in runs)
    if b == "same" and a != "same":
        return "b", None
    return "a", site if a == b else None


def read_code(recorded: RecordedRun) -> Code:
    """The user's files that ran, those of programs beside the training too, as they are now."""
    manifest = recorded.run.manifest
    paths = dict.fromkeys(manifest.settings.get(code.Code.id, {}), "")
    for trace in (*recorded.compared, *recorded.other):
        sites = map(parse_site, trace.words("call_site"))
        paths.update({site[0]: "" for site in sites if site is not None})
    return Code(Path(manifest.cwd), manifest.command, paths)
