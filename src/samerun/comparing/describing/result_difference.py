"""The difference of runs that are equal in every record, but not in a result that they print or write."""

from __future__ import annotations

from typing import Literal

from samerun.comparing.alignment import Divergence, TracePair
from samerun.comparing.context import build_side, find_generators
from samerun.comparing.helper_programs import align
from samerun.comparing.pairing import RecordedRun, pair
from samerun.runs.difference import Difference


def describe_result(
    runs: tuple[RecordedRun, RecordedRun],
    what: str,
    name: str,
    site: str | None,
    *,
    site_in: Literal["a", "b"] = "a",
    other_site: str | None = None,
) -> Difference | None:
    """The difference at the end of two runs; None where they have no process in common.

    `what` is one of runs.schema.RESULTS, `site` the line that printed or wrote it, in the code of run
    `site_in`, and `other_site` run B's. All that the runs did has come before it.
    """
    pairs, _, _ = pair(runs[0].compared, runs[1].compared)
    if not pairs:
        return None
    one, other = max(pairs, key=lambda both: both[0].steps.max(initial=0))
    ends = len(one), len(other)
    most = int(max(one.steps.max(initial=0), other.steps.max(initial=0)))
    last = max(min(runs[0].run.steps, runs[1].run.steps) - 1, 0)
    generators = find_generators(TracePair(one, other), Divergence(*ends, (ends[0], 1)), most)
    a, b = (
        build_side(
            recorded.run,
            recorded.of_rank(own.rank, first=own),
            most,
            end,
            most,
            recorded.of_others(own.rank),
        )
        for recorded, own, end in zip(runs, (one, other), ends, strict=True)
    )
    return Difference(
        step=last,
        phase="end",
        what=what,
        name=name,
        call_site=site,
        site_in=site_in,
        other_site=other_site,
        rank=one.rank,
        process=one.stem,
        rng_first={id_: min(step, last) for id_, step in generators.first.items()},
        drawn=generators.drawn,
        agreed=generators.agreed,
        a=a,
        b=align(a, b),
    )
