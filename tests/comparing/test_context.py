"""What is known around a first difference."""

from __future__ import annotations

import sys

import pytest
from trainer import Trainer

from samerun.comparing import context
from samerun.comparing.compare_runs import compare
from samerun.runs.difference import Difference

from .build import Builder, Record, compared, d, end, find, flip, record, training


def difference(build: Builder, one: list[Record], other: list[Record]) -> Difference:
    found = compare(build(one), build(other)).difference
    assert found is not None
    return found


def test_samples_of_equal_indices(build: Builder) -> None:
    changed = training()
    flip(changed[find(changed, "batch", 1)])
    found = difference(build, training(), changed)
    assert (found.indices_equal, found.same_samples, found.in_workers, found.kind) == (
        True,
        True,
        True,
        "value",
    )


@pytest.mark.parametrize("permuted", [True, False])
def test_samples_of_other_indices(build: Builder, permuted: bool) -> None:
    changed = training()
    indices = changed[find(changed, "indices", 1)]
    flip(indices)
    indices["inputs"] += not permuted
    indices["detail"] = '{"workers": 0}'
    flip(changed[find(changed, "batch", 1)])
    one = training()
    one[find(one, "indices", 1)]["detail"] = '{"workers": 0}'
    found = difference(build, one, changed)
    assert (found.indices_equal, found.same_samples, found.in_workers) == (False, permuted, False)


def test_the_batch_before_a_later_difference(build: Builder) -> None:
    changed = training()
    flip(changed[find(changed, "loss", 1)])
    assert difference(build, training(), changed).indices_equal is True


def test_an_equal_batch_of_workers_is_not_what_differs(build: Builder) -> None:
    changed = training()
    flip(changed[find(changed, "input", 1)])
    found = difference(build, training(), changed)
    assert (found.what, found.indices_equal, found.in_workers) == ("input", True, False)


def test_no_loader(build: Builder) -> None:
    def rows(text: str) -> list[Record]:
        return [record(0, "forward", "loss", "backward", digest=d(text)), end(1)]

    found = difference(build, rows("a"), rows("b"))
    assert (found.indices_equal, found.same_samples, found.in_workers) == (None, None, None)


@pytest.mark.parametrize("with_indices", [True, False])
def test_the_same_batches_in_another_order(build: Builder, with_indices: bool) -> None:
    def rows(order: str) -> list[Record]:
        made = []
        for number, sample in enumerate(order):
            if with_indices:
                made.append(
                    record(number, "data", "indices", digest=d(f"i{sample}"), detail='{"workers": 2}')
                )
            made.append(record(number, "data", "batch", "Digits", digest=d(sample)))
        return [*made, end(len(order))]

    found = difference(build, rows("abcdef"), rows("acbdef"))
    assert (found.kind, found.step, found.same_samples) == ("order", 1, True)
    other = difference(build, rows("abcdef"), rows("axydef"))
    assert other.kind == "value"
    assert not other.same_samples


def test_generators(build: Builder) -> None:
    def rows(python_at_2: str, numpy: str, loss: str) -> list[Record]:
        these = training()
        at = find(these, "batch", 2)
        these.insert(at, record(2, "forward", "rng", "python-random", digest=d(python_at_2)))
        these.insert(3, record(0, "setup", "rng", "numpy-global", digest=d(numpy)))
        these[find(these, "loss", 2)]["digest"] = d(loss)
        return these

    found = difference(build, rows("x", "n", "l"), rows("y", "m", "k"))
    assert found.rng_first == {"numpy-global": 0, "python-random": 2}
    assert found.drawn == {"python-random", "torch-cpu"}
    equal = difference(build, rows("x", "n", "l"), rows("x", "n", "k"))
    assert equal.rng_first == {}
    assert equal.agreed == found.agreed | {"numpy-global", "python-random"}
    seeded = [record(0, "setup", "seed", "random.seed", digest=d("0"))]
    one, other = rows("x", "n", "l"), rows("y", "m", "k")
    assert difference(build, seeded + one, seeded + other).agreed == found.agreed | {"python-random"}


def test_a_state_after_the_difference_does_not_count(build: Builder) -> None:
    changed = training()
    flip(changed[find(changed, "loss", 1)])
    for row in changed:
        if row["what"] == "rng" and row["step"] == 2:
            flip(row)
    found = difference(build, training(), changed)
    assert found.rng_first == {}
    assert found.drawn == {"torch-cpu"}


def test_draws_that_were_recorded(build: Builder) -> None:
    changed = training()
    changed.insert(5, record(0, "forward", "draw", "numpy-generator"))
    flip(changed[find(changed, "loss", 1)])
    assert "numpy-generator" in difference(build, training(), changed).drawn


def test_a_generator_of_the_scripts_own(build: Builder) -> None:
    def rows(text: str) -> list[Record]:
        these = training()
        these.insert(
            find(these, "loss", 1), record(1, "forward", "rng", "torch-cpu:generator", digest=d(text))
        )
        these[find(these, "loss", 1)]["digest"] = d(text)
        return these

    found = difference(build, rows("a"), rows("b"))
    assert found.rng_first == {"torch-cpu": 1}
    assert "torch-cpu" in found.drawn


def test_a_generator_of_its_own_in_equal_states_says_nothing_of_the_shared_one(build: Builder) -> None:
    """The shared one differs, since nobody has seeded it yet, and is not drawn from."""

    def rows(text: str, own: str) -> list[Record]:
        these = [row for row in training() if row["what"] != "rng"]
        at = find(these, "loss", 1)
        these.insert(at, record(1, "forward", "rng", "torch-cpu:generator", digest=d(own)))
        these.insert(0, record(0, "setup", "rng", "torch-cpu", digest=d(text)))
        flip(these[find(these, "loss", 1)]) if text == "b" else None
        return these

    assert difference(build, rows("a", "own"), rows("b", "own")).drawn == frozenset()
    assert difference(build, rows("a", "own"), rows("b", "other")).drawn == {"torch-cpu"}


def test_a_state_written_only_after_the_setup(build: Builder) -> None:
    changed = training()
    flip(changed[find(changed, "parameters", 0, "setup")])
    flip(changed[find(changed, "rng", 0)])
    found = difference(build, training(), changed)
    assert (found.phase, found.rng_first) == ("setup", {"torch-cpu": 0})


def test_states_after_the_difference_in_the_same_step_do_not_count(build: Builder) -> None:
    def rows(text: str) -> list[Record]:
        these = training()
        at = find(these, "loss", 1)
        these[at]["digest"] = d(text)
        these.insert(at + 1, record(1, "forward", "rng", "python-random", digest=d(text)))
        return these

    found = difference(build, rows("a"), rows("b"))
    assert found.rng_first == {}
    assert "python-random" in found.drawn


def test_sides(build: Builder) -> None:
    changed = training()
    at = find(changed, "loss", 1)
    flip(changed[at])
    changed.insert(at, record(1, "forward", "clock", "time.time", detail="x", call_site="train.py:8"))
    changed.append(record(2, "forward", "clock", "time.time", detail="too late"))
    changed[3]["detail"] = '{"threads": 4}'
    one = build(training(), settings={"hash-seed": {"value": "0"}, "threads": {"threads": 1}}, seed=3)
    result = compare(one, build(changed, settings={"hash-seed": {"value": "1"}}))
    assert result.difference is not None
    a, b = result.difference.a, result.difference.b
    assert a.settings == {"hash-seed": {"value": "0"}, "threads": {"threads": 2}}
    assert b.settings == {"hash-seed": {"value": "1"}, "threads": {"threads": 4}}
    assert (a.manifest["seed"], a.manifest["command"]) == (3, ["python", "train.py"])
    assert [(row.detail, row.call_site, row.process) for row in b.rows("clock")] == [
        ("x", "train.py:8", "rank0")
    ]
    assert a.rows("clock") == []
    assert all(row.what not in {changed[at]["what"] for at in compared(changed)} for row in b.evidence)


def test_evidence_is_capped(build: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    assert context._MOST_EVIDENCE == 20_000
    monkeypatch.setattr(context, "_MOST_EVIDENCE", 200)  # the like of it, in a hundredth of the time
    rows = training(1)
    notes = [record(0, "setup", "opened", "file", digest=None, detail=str(n)) for n in range(250)]
    changed = training(1)
    flip(changed[find(changed, "loss")])
    found = difference(build, [*notes, *rows], changed)
    assert len(found.a.evidence) == 200
    assert found.a.evidence[0].detail == "0"
    assert found.a.evidence[-1].what == "indices"


def test_damaged_details_are_passed_over(build: Builder) -> None:
    one, other = training(), training()
    for rows in (one, other):
        rows[3]["detail"] = "{not json"
        rows[0]["detail"] = '{"not": "a list"}'
        for row in rows:
            if row["what"] == "indices":
                row["detail"] = "[]"
    flip(other[find(other, "gradients", 0)])
    found = difference(build, one, other)
    assert (found.what, found.name, found.in_workers, found.a.settings) == ("gradients", "SGD[2]", None, {})


def test_what_an_evaluation_read_counts_though_the_next_step_has_begun(build: Builder) -> None:
    """An evaluation belongs to the step that is over, and evidence to the one that is coming."""

    def rows(text: str) -> list[Record]:
        read = record(2, "forward", "clock", "time.time", digest=None, call_site="train.py:3")
        later = record(2, "forward", "clock", "time.time", digest=None, call_site="train.py:9")
        first = training(2)[:-1]
        return [*first, read, record(1, "evaluation", "output", "CNN", digest=d(text)), later, end(2)]

    found = difference(build, rows("a"), rows("b"))
    assert (found.step, found.phase) == (1, "evaluation")
    assert [row.call_site for row in found.a.rows("clock")] == ["train.py:3"]
    assert [row.call_site for row in found.b.rows("clock")] == ["train.py:3"]


@pytest.mark.parametrize("seeds", [("1", "1"), ("1", "2")])
def test_a_seeded_state_that_only_one_run_has_written_yet(build: Builder, seeds: tuple[str, str]) -> None:
    """What was there before the seeding differs always, and says nothing."""

    def rows(which: int) -> list[Record]:
        unseeded = record(0, "setup", "rng", "torch-cpu", digest=d(f"unseeded {which}"))
        seeding = record(0, "setup", "seed", "torch.manual_seed", digest=d(seeds[which]))
        state = record(0, "setup", "rng", "torch-cpu", digest=d(f"seeded with {seeds[which]}"))
        weights = record(0, "setup", "parameters", "CNN", digest=d(f"weights {which}"))
        return [unseeded, seeding, *([state, weights] if which else [weights, state]), *training()]

    found = difference(build, rows(0), rows(1))
    assert found.rng_first.get("torch-cpu") == (None if len(set(seeds)) == 1 else 0)


def test_a_setting_written_a_step_late_by_one_run_is_known_of_both(build: Builder) -> None:
    def rows(late: bool) -> list[Record]:
        these = [row for row in training() if row["what"] != "setting"]
        flip(these[find(these, "loss", 0)]) if late else None
        said = record(int(late), "forward", "setting", "threads", detail='{"threads": 2}', digest=None)
        these.insert(find(these, "loss", int(late)), said)
        return these

    found = difference(build, rows(False), rows(True))
    assert found.step == 0
    assert found.a.settings == found.b.settings == {"threads": {"threads": 2}}


def test_a_generator_reseeded_in_the_middle_of_a_step(build: Builder) -> None:
    """As `torch.seed()` at the start of an epoch does: the state at the step's start was still the same."""

    def rows(text: str) -> list[Record]:
        these = training()
        at = find(these, "loss", 2)
        states = [record(2, "forward", "rng", "python-random", digest=d(state)) for state in ("x", text)]
        these[at]["digest"] = d(text)
        return [*these[:at], *states, *these[at:]]

    found = difference(build, rows("a"), rows("b"))
    assert found.rng_first == {"python-random": 2}


def test_a_run_that_is_a_few_draws_ahead(build: Builder) -> None:
    def rows(states: str) -> list[Record]:
        these = [row for row in training() if row["what"] != "rng"]
        at = find(these, "loss", 0)
        these[at]["digest"] = d(states)
        drawn = [record(0, "setup", "rng", "torch-cpu", digest=d(state)) for state in states]
        return [*these[:at], *drawn, *these[at:]]

    assert difference(build, rows("uabc"), rows("vab")).rng_first == {}  # seeded after "u" and "v"
    assert difference(build, rows("uabc"), rows("vabd")).rng_first == {"torch-cpu": 0}


@pytest.mark.parametrize("reseeded", [True, False])
def test_draws_from_a_seed_that_is_given_after_the_difference_had_no_part_in_it(
    build: Builder, reseeded: bool
) -> None:
    """They were taken for draws from the state that differed before, and the generator for the reason."""

    def rows(text: str) -> list[Record]:
        def state(of: str) -> Record:
            return record(0, "setup", "rng", "torch-cpu", digest=d(of))

        parts = record(0, "setup", "parameters", "CNN", digest=d(text))
        seed = record(0, "setup", "seed", "torch.manual_seed", digest=d("0"))
        later = [seed, state("s"), state("t")] if reseeded else [state(f"{text} 1"), state(f"{text} 2")]
        return [state(text), parts, *later, *training()]

    found = difference(build, rows("a"), rows("b"))
    assert (found.what, found.rng_first) == ("parameters", {"torch-cpu": 0})
    assert ("torch-cpu" in found.drawn) is not reseeded


MEMBER = """
    import sys
    import torch

    if "seeded" in sys.argv:
        torch.manual_seed(int(sys.argv[1]))
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        model(torch.randn(4, 2)).mean().backward()
        optimizer.step()
"""


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("command", "beside"),
    [
        ("python train.py 1; python train.py 2; python train.py 3", 2),
        ("python train.py 1", 0),
        ("python train.py 1; python other.py 2", 0),
        ("python train.py 1 seeded; python train.py 2 seeded", 0),
    ],
)
@pytest.mark.slow
def test_programs_of_one_script_that_draw_from_what_they_do_not_seed(
    trainer: Trainer, command: str, beside: int
) -> None:
    """A patch that seeds it at its top would make them all alike."""
    trainer.script(MEMBER)
    trainer.script(MEMBER, "other.py")
    run = trainer.record("bash", "-c", command.replace("python", sys.executable))
    traces = sorted(run.traces().values(), key=lambda trace: len(trace.stem))
    assert context.build_side(run, traces, 0).beside.get("torch-cpu", 0) == beside
