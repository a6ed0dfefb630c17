"""One process draws the same numbers twice: a seeding or a restored state takes its generator back."""

from __future__ import annotations

from collections.abc import Iterator

from samerun.health.case import HEAD, Case, Process, format_site
from samerun.health.draws import Stretch
from samerun.runs.difference import Row
from samerun.runs.schema import LOSS

_OF = {
    "model": "what came before the model was called (order, augmentation, noise)",
    "loss": "the model (dropout)",
}


def note(case: Case) -> Iterator[str]:
    """A line for each generator that is taken back between two steps of one training."""
    for process in case.processes:
        told: set[str] = set()
        for stretch, again in _find_pairs(process):
            if stretch.generator not in told:
                told.add(stretch.generator)
                yield _describe_repeated(case, process, stretch, again)


def _find_pairs(process: Process) -> Iterator[tuple[Stretch, Stretch]]:
    """Draws of one training that begin with one state and end with one."""
    met: dict[tuple[str, str, bytes, bytes], list[Stretch]] = {}
    taken: set[int] = set()  # distances in steps by which the whole training was taken back
    for stretch in process.draws.stretches:
        if stretch.keyed and stretch.until != LOSS:
            continue  # seeded for a sample: the sample decides, which is no repetition
        key = stretch.generator, stretch.until, stretch.before, stretch.after
        alike = met.setdefault(key, [])
        alike.append(stretch)
        if len(alike) < 2 or not alike[0].first or alike[-2].step == stretch.step:
            continue
        earlier = alike[-2]
        distance = stretch.step - earlier.step
        if process.draws.training(earlier.at) != process.draws.training(stretch.at):
            continue  # a fold or a trial, with a model of its own
        if _is_taken_back(process, earlier.step, stretch.step):
            taken.add(distance)
        elif distance not in taken and not _is_made_again(process, earlier, stretch):
            yield earlier, stretch


def _is_taken_back(process: Process, step: int, again: int) -> bool:
    """Whether the weights are the same too: a checkpoint was restored, and the training went on from it."""
    weights = process.draws.weights
    return step in weights and weights[step] == weights.get(again)


def _is_made_again(process: Process, earlier: Stretch, stretch: Stretch) -> bool:
    """Whether a script makes its one batch anew in every step, by one seed."""
    draws = process.draws
    one = draws.inputs.get(earlier.step)
    if stretch.until == LOSS or one is None or one != draws.inputs.get(stretch.step):
        return False
    optimizer = draws.optimizer(stretch.step)
    return all(draws.optimizer(step) != optimizer for step in range(earlier.step + 1, stretch.step))


def _describe_repeated(case: Case, process: Process, stretch: Stretch, again: Stretch) -> str:
    seeding = _find_seeding(process, again)
    rank = f" (rank {process.trace.rank})" if len(case.processes) > 1 else ""
    what = (
        f"{HEAD}{stretch.generator} drew the same numbers in step {again.step} as in step {stretch.step}"
        f"{rank}, for {_OF[stretch.until]}"
    )
    if seeding is None:
        return (
            f"{what}, after its earlier state was put back: what should be new each time repeats. "
            "Put a state back where a training goes on, and nowhere else"
        )
    value = "" if seeding.value is None else f" with {seeding.value:g}"
    return (
        f"{what}, since {seeding.name}{format_site(seeding.call_site)} seeds it{value} again: "
        "what should be new each "
        "time repeats. Seed once, before the training; where an evaluation is to repeat, put it in "
        "`with samerun.isolate_rng():`"
    )


def _find_seeding(process: Process, again: Stretch) -> Row | None:
    """The last seeding before the second stretch, where its seed was given before."""
    rows = [row for position, row in process.draws.seeds(again.generator) if position < again.at]
    if not rows:
        return None
    last = rows[-1]
    return last if any(row.digest == last.digest for row in rows[:-1]) else None
