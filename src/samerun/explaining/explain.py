"""Asks every source of the catalogue whether it recognises a first difference."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from samerun.explaining.cause import Cause, make_cause
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.sources.base.torch_rng import TorchRng
from samerun.sources.catalogue import find_sources
from samerun.sources.edits.field_factories import find_factory
from samerun.sources.evidence.rows import read_code
from samerun.sources.source import Kind, Source


def explain(
    difference: Difference, sources: Iterable[Source] | None = None
) -> tuple[list[Evidence], list[str]]:
    """(the evidence, best first; notes on sources that could not read what the runs recorded).

    Of equally strong evidence, that of another program comes first, then that of the very line where the runs
    diverge; ties are in the order of the ids. A source that fails is named and passed over: an odd trace must
    not cost the verdict.
    """
    found: list[Evidence] = []
    notes: list[str] = []
    for source in find_sources().values() if sources is None else sources:
        try:
            evidence = _find_field(difference, source, source.recognise(difference))
        except Exception as error:
            notes.append(f"{source.id} could not read what was recorded ({type(error).__name__}: {error})")
            continue
        if evidence is not None:
            found.append(evidence)
    site = difference.call_site

    def rank(item: Evidence) -> tuple[float, bool, bool, str]:
        elsewhere = site is None or item.call_site != site
        return -item.strength, not item.of_other_program, elsewhere, item.source

    return sorted(found, key=rank), notes


def _find_field(difference: Difference, source: Source, evidence: Evidence | None) -> Evidence | None:
    """The same, at the field whose `default_factory` is called where an object of its class is made."""
    if evidence is None or source.gives is None or source.kind not in (Kind.WORLD, Kind.RNG):
        return evidence
    code = read_code(difference.a)
    if code is None:
        return evidence
    site = find_factory(code, evidence.call_site, source.gives)
    if site is None:
        return evidence
    return replace(evidence, text=f"{evidence.text} (by a field made at {site})", call_site=site)


def leave_out(difference: Difference, generators: Collection[str]) -> Difference:
    """The difference as if nothing had been drawn from these: runs showed that they do not explain it.

    Other sources step back where a generator explains a difference.
    """
    a, b = (
        replace(
            side,
            evidence=tuple(row for row in side.evidence if row.what != "draw" or row.name not in generators),
        )
        for side in (difference.a, difference.b)
    )
    first = {id_: step for id_, step in difference.rng_first.items() if id_ not in generators}
    return replace(difference, rng_first=first, drawn=difference.drawn.difference(generators), a=a, b=b)


def list_suspects(difference: Difference, known: Collection[str]) -> list[Cause]:
    """RNGs that also differ and are drawn from, but the `known` ones: behind later differences, perhaps."""
    first = sorted(difference.rng_first.items(), key=lambda item: (item[1], item[0]))
    return [
        make_cause(
            Evidence(
                source,
                Strength.LAST_RESORT,
                f"not the first difference, but its state differs from step {step} on and it is used",
            )
        )
        for source, step in first
        if source in difference.drawn and source not in known and _is_used(difference, source)
    ]


def _is_used(difference: Difference, id_: str) -> bool:
    """Whether an RNG gave anything to the program, as far as is known, and not to an import alone.

    At tier `ops` each draw is noted that the script leads to, but for torch's, which are operations. What is
    not, before the training, is a library's, as it is imported: scikit-learn's datasets draw so.
    """
    source = find_sources().get(id_)
    sides = difference.a, difference.b
    if isinstance(source, TorchRng) or any(side.manifest.get("tier") != "ops" for side in sides):
        return source is not None
    states = [row for side in sides for row in side.rows("rng", id_)]
    later = any(row.step > 0 or row.phase != "setup" for row in states)
    return source is not None and (later or any(side.rows("draw", id_) for side in sides))
