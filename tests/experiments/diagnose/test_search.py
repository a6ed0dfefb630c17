"""Covers what `search.py` makes of findings, without a run."""

from __future__ import annotations

from samerun.experiments.diagnose.search import _keep_possible, _name_made_anew
from samerun.explaining.cause import Findings, make_cause
from samerun.runs.difference import Evidence, Strength


def test_a_file_that_each_run_makes_anew_is_named_though_a_fresh_folder_does_not_help() -> None:
    """`shuf` in a shell script wrote it: nothing of that is seen, and runs from the same files differ too."""
    file = make_cause(Evidence("input-data", 1.0, "part.tsv had other content", "train.py:3"))
    generator = make_cause(Evidence("torch-cpu", 0.7, "drawn from"))
    found = _name_made_anew(Findings(ruled_out=(generator, file)))
    (cause,) = found.causes
    assert (cause.source, cause.confirmed, cause.call_site) == ("input-data", False, "train.py:3")
    assert "made it anew" in cause.evidence
    assert found.ruled_out == (generator,)


def test_what_edits_alone_may_end_is_not_ruled_out_where_nothing_else_explains_it() -> None:
    threads, arrival = (
        make_cause(Evidence(source, Strength.FAIR, "seen"))
        for source in ("thread-scheduling", "worker-arrival")
    )
    left = _keep_possible(Findings(ruled_out=(arrival, threads)))
    assert (left.causes, left.ruled_out) == ((threads,), (arrival,))
    assert not left.causes[0].confirmed
    explained = Findings(causes=(arrival,), ruled_out=(threads,))
    assert _keep_possible(explained) == explained
