"""Covers `cause.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from samerun.comparing.comparison import Comparison, Scope
from samerun.explaining.cause import Findings
from samerun.explaining.confirm import (
    MOST_CANDIDATES,
    confirm,
    is_not_after,
    is_race,
    judge,
    list_unconfirmed,
    must_agree,
)
from samerun.runs.difference import Difference, Evidence, Origin, Row, Strength
from samerun.sources.catalogue import find_sources

HERE = Difference(step=3, phase="forward", what="output")
SAME = Comparison("same", Scope(("a", "b")))
STILL = Comparison("differs", Scope(("a", "b")), difference=HERE)
UNCLEAR = Comparison("unknown", Scope(("a", "b")), reason="it crashed")


def at(step: int, phase: str) -> Comparison:
    return Comparison(
        "differs", Scope(("a", "b")), difference=Difference(step=step, phase=phase, what="loss")
    )


@pytest.mark.parametrize(
    "comparison, outcome",
    [
        (SAME, "mended"),
        (STILL, "still"),
        (UNCLEAR, "unclear"),
        (at(3, "backward"), "mended"),
        (at(4, "setup"), "mended"),
        (at(3, "forward"), "still"),
        (at(3, "data"), "still"),
        (at(2, "evaluation"), "still"),
    ],
)
def test_mended_is_gone_or_later_than_the_original(comparison: Comparison, outcome: str) -> None:
    assert judge(comparison, HERE) == outcome


def test_an_evaluation_may_precede_the_step_that_it_has_the_number_of() -> None:
    """Such as a model that makes the data, before anything is trained: the records' order decides."""
    first = Difference(step=0, phase="evaluation", what="operation", place=7)
    found = Comparison(
        "differs", Scope(("a", "b")), difference=Difference(step=0, phase="data", what="input", place=9)
    )
    assert judge(found, first) == "mended"
    assert found.difference is not None
    earlier = replace(found, difference=replace(found.difference, place=5))
    assert judge(earlier, first) == "still"


@pytest.mark.parametrize(
    ("process", "outcome"), [("rank0.Process-1", "mended"), ("rank0", "still"), ("rank1", "still")]
)
def test_what_differs_in_a_process_that_another_started_is_later(process: str, outcome: str) -> None:
    """Such as what a worker draws for itself, where the first weights differ no longer."""
    first = Difference(step=0, phase="setup", what="operation", place=7)
    found = Difference(step=0, phase="setup", what="operation", place=2, process=process)
    assert judge(Comparison("differs", Scope(("a", "b")), difference=found), first) == outcome


@pytest.mark.parametrize(("inputs_equal", "outcome"), [(False, "still"), (True, "mended")])
def test_what_a_worker_of_a_pool_makes_is_not_later_than_what_it_was_for(
    inputs_equal: bool, outcome: str
) -> None:
    """A sum of what came back differed; the weights that a generator made before are another matter."""
    made = Origin("aten.add.Tensor", None, None, "setup", inputs_equal, False, None, False, False)
    first = Difference(step=0, phase="setup", what="operation", place=7, origin=made)
    found = Difference(step=0, phase="data", what="input", place=2, process="rank0.ForkPoolWorker-1")
    assert judge(Comparison("differs", Scope(("a", "b")), difference=found), first) == outcome


@pytest.mark.parametrize(
    ("place", "shows", "outcome"),
    [(9, (0, "data"), "mended"), (5, (0, "data"), "still"), (9, (0, "forward"), "still"), (9, None, "still")],
)
def test_a_model_that_is_made_after_a_first_call_of_a_module_shows_in_a_batch(
    place: int, shows: tuple[int, str] | None, outcome: str
) -> None:
    """After that of a transform, say: what differs in the batch then is later, by the records' order."""
    weights = Difference(step=0, phase="forward", what="operation", place=7, shows=shows)
    found = Difference(step=0, phase="data", what="input", place=place)
    assert judge(Comparison("differs", Scope(("a", "b")), difference=found), weights) == outcome
    other = replace(found, process="rank1")
    assert judge(Comparison("differs", Scope(("a", "b")), difference=other), weights) == "still"


def test_an_operation_is_where_it_shows_or_before() -> None:
    batch = Difference(step=3, phase="data", what="batch")
    made = Difference(step=3, phase="forward", what="operation", shows=(3, "data"))
    assert is_not_after(batch, batch) and is_not_after(made, batch)
    assert not is_not_after(replace(made, shows=(3, "forward")), batch)
    assert not is_not_after(replace(made, shows=None), batch)
    assert not is_not_after(replace(made, step=4, shows=(4, "data")), batch)


class Trials:
    """Answers as if controlling all of `cure` mends it; keeps what was tried."""

    def __init__(self, cure: Callable[[set[str]], bool], unclear: str = "") -> None:
        self.cure = cure
        self.unclear = unclear
        self.tried: list[tuple[tuple[str, ...], int]] = []

    def __call__(self, sources: tuple[str, ...], count: int) -> Comparison:
        self.tried.append((sources, count))
        if self.unclear in sources:
            return UNCLEAR
        return SAME if self.cure(set(sources)) else STILL


def evidence(*sources: str, strength: float = 1.0) -> list[Evidence]:
    return [Evidence(source, strength, f"saw {source}") for source in sources]


def names(findings: Findings) -> dict[str, list[str]]:
    return {
        "causes": [cause.source for cause in findings.causes],
        "confirmed": [cause.source for cause in findings.causes if cause.confirmed],
        "suspects": [cause.source for cause in findings.suspects],
        "ruled out": [cause.source for cause in findings.ruled_out],
    }


@pytest.mark.parametrize(("strength", "listed"), [(Strength.REMOTE, []), (Strength.PLAUSIBLE, ["hash-seed"])])
def test_what_nothing_points_to_is_not_spoken_of_beside_a_confirmed_cause(
    strength: Strength, listed: list[str]
) -> None:
    both = [*evidence("clock"), *evidence("hash-seed", strength=strength)]
    found = confirm(HERE, both, Trials(lambda held: "clock" in held), lambda _: True)
    assert names(found)["confirmed"] == ["clock"]
    assert names(found)["suspects"] == listed


def test_the_first_that_mends_is_the_cause_and_no_other_is() -> None:
    trials = Trials(lambda on: "b" in on)
    found = confirm(HERE, evidence("a", "b", "c"), trials, lambda source: True)
    assert names(found) == {"causes": ["b"], "confirmed": ["b"], "suspects": ["c"], "ruled out": ["a"]}
    assert [sources for sources, _ in trials.tried] == [("a",), ("b",)]


def test_what_failed_alone_before_is_tried_with_what_comes_next() -> None:
    before = tuple(evidence("a", "b"))
    trials = Trials(lambda held: {"a", "c"} <= held)
    found = confirm(HERE, evidence("c"), trials, lambda _: True, already_refuted=before)
    assert names(found) == {"causes": ["a", "c"], "confirmed": ["a", "c"], "suspects": [], "ruled out": ["b"]}
    trials = Trials(lambda held: False)
    found = confirm(HERE, evidence("c"), trials, lambda _: True, already_refuted=before)
    assert names(found)["ruled out"] == ["a", "b", "c"] and not found.causes
    trials = Trials(lambda held: True)
    assert not confirm(HERE, [], trials, lambda _: True, already_refuted=before).causes
    assert not trials.tried  # these two were tried together when they failed


def test_a_refuted_candidate_is_never_listed_as_a_cause() -> None:
    found = confirm(HERE, evidence("a"), Trials(lambda on: False), lambda source: True)
    assert names(found) == {"causes": [], "confirmed": [], "suspects": [], "ruled out": ["a"]}


def test_what_has_no_control_stays_unconfirmed_with_its_evidence() -> None:
    trials = Trials(lambda on: False)
    found = confirm(HERE, evidence("input-data", "a"), trials, lambda source: source == "a")
    assert names(found)["causes"] == ["input-data"]
    assert not found.causes[0].confirmed
    assert found.causes[0].evidence == "saw input-data"
    assert all("input-data" not in sources for sources, _ in trials.tried)


def test_two_sources_at_fault_at_once_are_confirmed_together() -> None:
    found = confirm(HERE, evidence("a", "b"), Trials(lambda on: {"a", "b"} <= on), lambda source: True)
    assert names(found)["confirmed"] == ["a", "b"]
    assert all(cause.together for cause in found.causes)
    assert found.ruled_out == ()


@pytest.mark.parametrize("shown", [True, False])
def test_what_is_no_longer_seen_beside_a_better_one_is_not_tried_with_it(
    monkeypatch: pytest.MonkeyPatch, shown: bool
) -> None:
    """A clock is read beside another seed; with the generator held that made the seed, none is another."""
    seen = evidence("clock")[0] if shown else None
    monkeypatch.setattr(type(find_sources()["clock"]), "recognise", lambda self, difference: seen)
    trials = Trials(lambda held: len(held) > 1)
    found = confirm(HERE, evidence("a", "clock"), trials, lambda source: True)
    assert (("a", "clock") in [sources for sources, _ in trials.tried]) is shown
    assert names(found)["confirmed"] == (["a", "clock"] if shown else [])
    assert found.unseen == (frozenset() if shown else {"clock"})


def test_what_was_not_seen_beside_a_better_one_is_not_tried_again_later() -> None:
    trials = Trials(lambda held: len(held) > 1)
    before = evidence("a", "clock")
    confirm(HERE, evidence("b"), trials, lambda _: True, already_refuted=before, unseen=frozenset({"clock"}))
    assert [sources for sources, _ in trials.tried if "clock" in sources] == []


def test_of_candidates_that_mend_together_only_those_needed_are_kept() -> None:
    trials = Trials(lambda on: {"a", "c"} <= on)
    found = confirm(HERE, evidence("a", "b", "c", "d"), trials, lambda source: True)
    assert names(found)["confirmed"] == ["a", "c"]
    assert names(found)["ruled out"] == ["b", "d"]


def test_nothing_that_mends_leaves_no_cause() -> None:
    trials = Trials(lambda on: False)
    found = confirm(HERE, evidence("a", "b"), trials, lambda source: True)
    assert names(found) == {"causes": [], "confirmed": [], "suspects": [], "ruled out": ["a", "b"]}
    assert [sources for sources, _ in trials.tried] == [("a",), ("b",), ("a", "b")]


def test_an_unclear_trial_neither_confirms_nor_refutes() -> None:
    found = confirm(HERE, evidence("a"), Trials(lambda on: True, unclear="a"), lambda source: True)
    assert names(found) == {"causes": ["a"], "confirmed": [], "suspects": [], "ruled out": []}
    assert "it crashed" in found.notes[0]


def test_weaker_evidence_must_hold_in_more_runs() -> None:
    trials = Trials(lambda on: False)
    confirm(HERE, evidence("a") + evidence("b", strength=0.4), trials, lambda source: True)
    assert trials.tried[:2] == [(("a",), 2), (("b",), 3)]


def test_how_much_is_tried_is_bounded() -> None:
    trials = Trials(lambda on: False)
    confirm(HERE, evidence(*"abcdefgh"), trials, lambda source: True)
    assert len(trials.tried) == MOST_CANDIDATES + 1


def test_where_threads_race_runs_that_part_later_prove_nothing() -> None:
    def later(sources: tuple[str, ...], count: int) -> Comparison:
        return at(9, "forward")

    lucky = confirm(HERE, evidence("clock"), later, lambda source: True)
    assert names(lucky)["confirmed"] == ["clock"]
    racing = confirm(HERE, evidence("clock"), later, lambda source: True, to_the_end=True)
    assert names(racing)["ruled out"] == ["clock"]
    agreeing = confirm(HERE, evidence("clock"), Trials(lambda on: True), lambda source: True, to_the_end=True)
    assert names(agreeing)["confirmed"] == ["clock"]


def test_what_next_to_nothing_points_to_must_hold_in_six_runs() -> None:
    class Lucky(Trials):
        def __call__(self, sources: tuple[str, ...], count: int) -> Comparison:
            super().__call__(sources, count)
            return SAME if count < 6 else STILL

    weak = evidence("hash-seed", strength=0.1)
    lucky = confirm(HERE, weak, Lucky(lambda on: True), lambda source: True)
    assert names(lucky)["ruled out"] == ["hash-seed"]
    trials = Trials(lambda on: True)
    sure = confirm(HERE, weak, trials, lambda source: True)
    assert names(sure)["confirmed"] == ["hash-seed"]
    assert [count for _, count in trials.tried] == [3, 6]
    both = [*evidence("torch-cpu", strength=0.7), *weak]
    together = Lucky(lambda on: True)
    together.cure = lambda on: len(on) == 2

    def alone(sources: tuple[str, ...], count: int) -> Comparison:
        return together(sources, count) if len(sources) == 2 else STILL

    assert not names(confirm(HERE, both, alone, lambda source: True))["confirmed"]


def test_a_race_with_fainter_evidence_asks_for_six_runs_too() -> None:
    """Runs of threads that train agreed by luck, and hash-seed was confirmed."""
    stronger, threads = evidence("hash-seed", strength=0.6), evidence("thread-scheduling", strength=0.5)
    trials = Trials(lambda on: "hash-seed" in on)
    confirm(HERE, [*stronger, *threads], trials, lambda source: source == "hash-seed")
    assert [count for _, count in trials.tried] == [3, 6]


@pytest.mark.parametrize(
    ("beside", "counts"), [("input-data", [3]), ("thread-scheduling", [3, 6]), ("memory-address", [3, 6])]
)
def test_runs_that_begin_with_the_same_files_hold_all_that_is_of_files(
    beside: str, counts: list[int]
) -> None:
    """A checkpoint that run A had copied by `cp` took 9 runs, and one that it had linked as many."""
    trials = Trials(lambda on: True)
    found = [*evidence("resume-state", strength=0.7), *evidence(beside, strength=0.5)]
    assert names(confirm(HERE, found, trials, "resume-state".__eq__))["confirmed"] == ["resume-state"]
    assert [count for _, count in trials.tried] == counts


@pytest.mark.parametrize(("in_library", "listed"), [(True, "causes"), (False, "ruled out")])
def test_a_control_of_what_the_code_reads_does_not_refute_what_a_library_reads(
    in_library: bool, listed: str
) -> None:
    """Hydra names the folder of a run by the time, and the script made its seed of that name."""
    (read,) = evidence("clock", strength=Strength.PLAUSIBLE)
    trials = Trials(lambda on: False)
    found = confirm(HERE, [replace(read, in_library=in_library)], trials, lambda source: True)
    assert names(found) == {"causes": [], "confirmed": [], "suspects": [], "ruled out": []} | {
        listed: ["clock"]
    }


@pytest.mark.parametrize(
    ("raced", "counts"),
    [((), [2]), ((Row(0, "setup", "threads", value=2.0),), [2, 6]), ((Row(0, "setup", "arrival"),), [2, 6])],
)
@pytest.mark.parametrize("source", ["python-random", "os-entropy"])
def test_what_was_drawn_elsewhere_asks_for_six_runs_where_something_is_taken_as_it_comes(
    raced: tuple[Row, ...], counts: list[int], source: str
) -> None:
    """A library draws from `random` as it is imported: one run of two threads that agreed confirmed it."""
    drawn = evidence(source, strength=Strength.SEEN)
    here = replace(HERE, a=replace(HERE.a, evidence=raced))
    trials = Trials(lambda on: True)
    confirm(here, drawn, trials, lambda source: True)
    assert [count for _, count in trials.tried] == counts


@pytest.mark.parametrize(
    ("mends", "causes", "ruled_out"), [(True, ["hash-seed"], []), (False, [], ["hash-seed"])]
)
def test_a_rival_that_the_trial_refutes_asks_for_no_more_and_is_neither_suspect_nor_cause(
    mends: bool, causes: list[str], ruled_out: list[str]
) -> None:
    """Addresses do not order a set that was seen to hold texts alone."""
    stronger, address = evidence("hash-seed", strength=0.6), evidence("memory-address", strength=0.3)
    trials = Trials(lambda on: mends and "hash-seed" in on)
    found = confirm(
        HERE,
        [*stronger, *address],
        trials,
        lambda source: source == "hash-seed",
        refuted_since=lambda item: item.source == "memory-address" and bool(trials.tried),
    )
    assert [count for _, count in trials.tried] == [3]
    assert names(found) == {
        "causes": causes,
        "confirmed": causes,
        "suspects": [],
        "ruled out": ruled_out,
    }


@pytest.mark.parametrize("beyond", [True, False])
def test_beside_an_order_of_arrival_beyond_control_others_must_hold_in_six_runs(beyond: bool) -> None:
    """Results that come as they are ready come alike in a few runs, whatever is controlled in them."""
    arrival = replace(evidence("worker-arrival", strength=0.7)[0], beyond_control=beyond)
    weak = evidence("hash-seed", strength=0.4)
    trials = Trials(lambda on: "hash-seed" in on)
    confirm(HERE, [arrival, *weak], trials, lambda source: True)
    assert [count for sources, count in trials.tried if sources == ("hash-seed",)] == [3, *([6] * beyond)]


def test_beside_a_race_that_was_seen_only_what_was_seen_is_tried() -> None:
    """Processes that train on the same weights diverged a little later, with torch-cpu replayed."""
    race = replace(evidence("thread-scheduling", strength=Strength.SEEN)[0], beyond_control=True)
    trials = Trials(lambda on: True)
    found = confirm(HERE, [race, *evidence("torch-cpu", strength=0.7)], trials, lambda source: True)
    assert (trials.tried, found.causes[0].source, found.causes[0].confirmed) == ([], race.source, False)
    seen = evidence("torch-cpu", strength=Strength.SEEN)
    assert confirm(HERE, [race, *seen], trials, lambda source: True).causes[0].confirmed


def test_beside_a_seed_that_was_seen_to_be_made_of_an_address_nothing_weaker_is_tried() -> None:
    """Its runs proved nothing, eight of them: no run can be given the address of another one."""
    address, weaker = evidence("memory-address"), evidence("python-random", strength=0.7)
    trials = Trials(lambda on: False)
    found = confirm(HERE, [*address, *weaker], trials, lambda source: source == "python-random")
    assert (trials.tried, names(found)["causes"]) == ([], ["memory-address"])
    assert names(found)["suspects"] == ["python-random"]
    faint = evidence("memory-address", strength=0.5)
    confirm(HERE, [*faint, *weaker], trials, lambda source: source == "python-random")
    assert trials.tried


def test_beside_strong_evidence_that_no_run_can_hold_nothing_remote_is_tried() -> None:
    """Modules in a WeakSet: two runs agreed by luck with hash-seed replayed, and six can."""
    remote = evidence("hash-seed", strength=Strength.REMOTE)
    trials = Trials(lambda on: True)
    strong = evidence("memory-address", strength=Strength.STRONG)
    found = confirm(HERE, [*strong, *remote], trials, lambda source: source == "hash-seed")
    assert (trials.tried, found.causes[0].source, found.causes[0].confirmed) == ([], "memory-address", False)
    faint = evidence("memory-address", strength=Strength.SLIGHT)
    assert confirm(HERE, [*faint, *remote], trials, lambda source: source == "hash-seed").causes[0].confirmed


def test_where_nothing_points_anywhere_only_whole_runs_are_proof() -> None:
    partings = [Difference(step=step, phase="data", what="input") for step in (0, 2)]
    assert is_race(partings, evidence())
    assert not is_race(partings[:1] * 2, evidence())


@pytest.mark.parametrize(
    "places, sources, race",
    [
        ((3, 7), ("uninitialized-memory", "thread-scheduling"), True),
        ((3, 3), ("uninitialized-memory", "thread-scheduling"), False),  # always at the same place
        ((3, 7), ("uninitialized-memory", "python-random"), False),  # each of them can be controlled
    ],
)
def test_threads_race_where_no_two_pairs_part_alike(
    places: tuple[int, ...], sources: tuple[str, ...], race: bool
) -> None:
    partings = [Difference(step=step, phase="forward", what="output") for step in places]
    assert is_race(partings, evidence(*sources)) is race


@pytest.mark.parametrize(("differs", "must"), [(False, True), (True, False), (None, False)])
def test_where_another_number_of_values_is_drawn_first_runs_must_agree(
    differs: bool | None, must: bool
) -> None:
    """Modules in the order of their addresses: with memory filled, two runs parted later, by luck."""
    drawn = Origin("aten.normal_.default", None, "net.py:1", "setup", True, True, differs, False, False)
    assert must_agree([replace(HERE, origin=drawn)], evidence()) is must


def test_between_runs_of_other_code_what_was_not_seen_is_no_likely_cause() -> None:
    code = Evidence("code", Strength.STRONG, "train.py changed", of_other_program=True)
    seen = Evidence("clock", Strength.SEEN, "another time")
    memory = Evidence("uninitialized-memory", Strength.POSSIBLE, "no generator explains it")
    order = Evidence("listing-order", Strength.FAIR, "a folder was listed")
    packages = Evidence("packages", Strength.STRONG, "torch: 2.13.0 and 2.11.0")
    threads = Evidence("threads", Strength.STRONG, "intra: 2 and 4")
    found = names(list_unconfirmed([seen, code, packages, threads, order, memory]))
    assert found["causes"] == ["clock", "code", "packages", "threads"]
    assert found["suspects"] == ["listing-order"]
    same = names(list_unconfirmed([seen, packages, order, memory]))
    assert same["causes"] == ["clock", "packages", "listing-order", "uninitialized-memory"]
