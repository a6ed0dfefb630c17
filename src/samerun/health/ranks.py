"""Ranks that hold different data draw the same numbers: equal dropout masks, equal noise."""

from __future__ import annotations

from collections.abc import Iterator

from samerun.health.case import HEAD, Case, Process, format_site
from samerun.health.draws import Stretch
from samerun.runs.schema import LOSS

_OF = {
    LOSS: "the model drew (dropout masks)",
    "model": "was drawn to make the data (augmentation, noise)",
}


def note(case: Case) -> Iterator[str]:
    """A line for each generator that has one state on two ranks that draw from it in a training step."""
    if case.is_controlled:
        return
    told: set[str] = set()
    for one, other in case.replicas():
        for generator, lines in _find_alike(one, other).items():
            if generator not in told:
                told.add(generator)
                yield lines


def _find_alike(one: Process, other: Process) -> dict[str, str]:
    """For each generator the note, where the same was drawn in most of the steps of one of the two."""
    found: dict[str, str] = {}
    theirs: dict[tuple[str, str, bytes, bytes], Stretch] = {}
    for stretch in _walk_within_pass(other):
        theirs.setdefault((stretch.generator, stretch.until, stretch.before, stretch.after), stretch)
    steps = len(one.draws.weights)
    pairs: dict[tuple[str, str], list[tuple[Stretch, Stretch]]] = {}
    for stretch in _walk_within_pass(one):
        twin = theirs.get((stretch.generator, stretch.until, stretch.before, stretch.after))
        if twin is not None and one.draws.inputs.get(stretch.step) != other.draws.inputs.get(twin.step):
            pairs.setdefault((stretch.generator, stretch.until), []).append((stretch, twin))
    for (generator, until), met in pairs.items():
        if len(met) >= min(steps, 2):
            found.setdefault(generator, _describe_alike(one, other, until, met))
    return found


def _walk_within_pass(process: Process) -> Iterator[Stretch]:
    """What torch's generators drew in a step, less what an evaluation, or an order that ranks share, may."""
    apart = process.loaders.begun | process.draws.evaluated
    for stretch in process.draws.stretches:
        if stretch.generator.startswith("torch-") and (stretch.until == LOSS or stretch.step not in apart):
            yield stretch


def _describe_alike(one: Process, other: Process, until: str, met: list[tuple[Stretch, Stretch]]) -> str:
    first, twin = met[0]
    ranks = f"ranks {one.trace.rank} and {other.trace.rank}"
    steps = f"in step {first.step}"
    if first.step != twin.step:
        steps = f"in steps {first.step} and {twin.step}"
    elif len(met) > 1:
        steps = f"from step {first.step} on ({len(met)} steps)"
    lines = [_describe_line(process, stretch) for process, stretch in ((one, first), (other, twin))]
    seeded = f", seeded by {lines[0]}" if lines[0] else ""
    return (
        f"{HEAD}{ranks} hold different data, and {first.generator} is in the same state on both "
        f"{steps}{seeded}: what {_OF[until]} is the same on each. Once the weights are made, "
        "seed each rank with a number of its own, hashed of (seed, rank)"
    )


def _describe_line(process: Process, stretch: Stretch) -> str:
    rows = [row for position, row in process.draws.seeds(stretch.generator) if position < stretch.at]
    if not rows:
        return ""
    value = "" if rows[-1].value is None else f" with {rows[-1].value:g}"
    return f"{rows[-1].name}{format_site(rows[-1].call_site)}{value}"
