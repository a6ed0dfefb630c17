"""Whether patched code still trains with as many different random numbers: equal runs are not enough.

A seed in the wrong place makes runs equal, and freezes what should be new each time: the noise of every step,
the augmentation of every epoch, the members of an ensemble. An edit is refused where its form shows that
(`sources/edits`). This looks at what the code with the edits did, beside what the code did without.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from samerun.comparing.pairing import RecordedRun, read
from samerun.errors import SamerunError
from samerun.explaining.cause import Cause
from samerun.explaining.line_map import map_site
from samerun.explaining.patch import Patch
from samerun.health.case import HEAD
from samerun.health.draws import SEEDS
from samerun.health.examine import list_notes
from samerun.runs.reading import Trace
from samerun.runs.store import Run
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources

_LEAST = 4  # inputs of a model that must all differ, for fewer to mean something
_SEED_BITS = 31  # of the seeds that edits draw
_TRIED = "tried, and not offered: with the edits"
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class _Loss:
    """What the edits take away."""

    why: str  # for people
    site: str | None = None  # the line of the code without them


@dataclass
class _Made:
    """The generators that a line made or seeded in one run."""

    count: int = 0
    seeds: set[tuple[str, bytes]] = field(default_factory=set)
    unseeded: int = 0  # each has a seed of its own

    @property
    def different(self) -> int:
        return len(self.seeds) + self.unseeded


def withdraw_unfaithful(
    patch: Patch, causes: Sequence[Cause], plain: Run, patched: Run, folder: Path
) -> Patch:
    """The patch; without its edits, and with the reason, where they take something from the training.

    `plain` and `patched` are runs of the code without and with them.
    """
    if not patch.diff:
        return patch
    try:
        before, after = read(plain), read(patched)
    except SamerunError:
        return patch
    loss = next(_find_losses(before, after, patch, folder), None)
    if loss is None:
        return patch
    here = [cause for cause in causes if loss.site is not None and cause.call_site == loss.site]
    cannot = {cause.source: loss.why for cause in here or causes if cause.source not in patch.cannot}
    none = replace(patch, diff="", files={}, sites={}, costs=(), verified=None)
    return replace(none, cannot={**patch.cannot, **cannot}, unfaithful=patch.unfaithful | cannot.keys())


def _find_losses(before: RecordedRun, after: RecordedRun, patch: Patch, folder: Path) -> Iterator[_Loss]:
    yield from _find_repeated_seeds(before, after, patch, folder)
    yield from _find_repeated_inputs(before, after)
    yield from _find_new_notes(before, after)


def _find_repeated_seeds(
    before: RecordedRun, after: RecordedRun, patch: Patch, folder: Path
) -> Iterator[_Loss]:
    """Lines whose generators had a seed each, and have fewer now."""
    known = _count_made(before, {}, folder)
    for (site, shared), now in _count_made(after, patch.files, folder).items():
        had = known.get((site, shared))
        if had is None:
            continue
        # More may have been made than were noted, where each had a seed of its own.
        every = had.different == had.count > 1
        expected = now.count if every else min(now.count, had.count) * had.different / had.count
        by_chance = now.count**2 / 2 ** (_SEED_BITS + 1)  # pairs that are equal, of so many drawn
        if now.different < expected - by_chance:
            seeds = "one seed" if now.different == 1 else f"{now.different} different seeds"
            yield _Loss(
                f"{_TRIED}, {site} gives {now.count} generators {seeds}, where each had its own, so that "
                "what should be new each time would repeat. Make one generator as the script begins, seeded "
                "once, and draw from that",
                site,
            )


def _count_made(
    recorded: RecordedRun, edited: Mapping[str, str], folder: Path
) -> dict[tuple[str, bool], _Made]:
    """By the line of the code as it is, and whether that is of a generator which all share."""
    found: dict[tuple[str, bool], _Made] = {}
    lines: dict[str, str] = {}
    for trace in (*recorded.compared, *recorded.other):
        for row in trace.rows(trace.is_one_of("what", {"seed", "unseeded"})):
            if row.call_site is None or row.detail is not None:
                continue
            if row.call_site not in lines:
                lines[row.call_site] = map_site(row.call_site, edited, {}, folder)
            name = row.name or ""
            made = found.setdefault((lines[row.call_site], _is_shared(name)), _Made())
            made.count += 1
            if row.what == "unseeded":
                made.unseeded += 1
            else:
                made.seeds.add((name, row.digest or b""))
    return found


def _is_shared(name: str) -> bool:
    """Whether a row of this name is of a library's own generator."""
    return name in SEEDS or name.startswith("torch.cuda.") or isinstance(find_sources().get(name), Rng)


def _find_repeated_inputs(before: RecordedRun, after: RecordedRun) -> Iterator[_Loss]:
    """A model, or a loop over data, that got other data each time, and gets the same again now."""
    for what in ("input", "batch"):
        known = _count_digests(before, what)
        for key, now in _count_digests(after, what).items():
            had = known.get(key)
            if had is None or sum(had.values()) < _LEAST or len(had) < sum(had.values()):
                continue
            count = sum(now.values())
            if count >= _LEAST and len(now) <= count / 2:
                given = "inputs of the model" if what == "input" else "batches"
                yield _Loss(
                    f"{_TRIED}, {len(now)} of {count} {given} are different ones, where all were, so that "
                    "what should be new each time would repeat. Seed once, as the script begins"
                )


def _count_digests(recorded: RecordedRun, what: str) -> dict[tuple[str, str], Counter[bytes]]:
    found: dict[tuple[str, str], Counter[bytes]] = {}
    for trace in recorded.compared:
        for name, digest in _list_training(trace, what):
            found.setdefault((trace.stem, name), Counter())[digest] += 1
    return found


def _list_training(trace: Trace, what: str) -> Iterator[tuple[str, bytes]]:
    """The name and the digest of each such record that is not of an evaluation."""
    import numpy as np

    mask = trace.is_one_of("what", {what}) & ~trace.is_one_of("phase", {"evaluation"})
    names, codes = [*trace.words("name"), ""], trace.codes("name")
    for at in np.flatnonzero(mask & trace.digests.there).tolist():
        yield names[codes[at]], trace.digests.values[at].tobytes()


def _find_new_notes(before: RecordedRun, after: RecordedRun) -> Iterator[_Loss]:
    """What is to be said of the seeds of the code with the edits, and not of those without."""
    known = {_NUMBER.sub("", note) for note in list_notes(before)}
    for note in list_notes(after):
        if _NUMBER.sub("", note) not in known:
            yield _Loss(f"{_TRIED}, {note.removeprefix(HEAD)}")
