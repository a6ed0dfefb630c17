"""What differs in the setup alone decides only where something else differs too.

Covers `describing/later_differences.py`.
"""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare_all, compare_trainings, compare_whole
from samerun.comparing.comparison import Comparison
from samerun.runs.store import Run

from .build import Builder, Record, d, find, flip, operation, record, training


def rows(setup: str = "same", later: str = "same", phase: str = "evaluation") -> list[Record]:
    """A training with an operation before it, and one in its first step of which no other record knows."""
    made = training()
    made.insert(0, operation(0, "aten::rand", setup, phase="setup"))
    made.insert(find(made, "output", 0, "evaluation"), operation(0, "aten::mean", later, phase=phase))
    return made


def run(build: Builder, made: list[Record]) -> Run:
    return build(made, tier="ops", plan={"tier": "ops", "window": [-1, 0]})


def whole(build: Builder, one: list[Record], other: list[Record]) -> Comparison:
    (found,) = compare_whole([run(build, one), run(build, other)])
    return found


def test_one_without_effect_is_a_note(build: Builder) -> None:
    a, b = run(build, rows("one")), run(build, rows("two"))
    assert compare_all([a, b])[0].verdict == "differs"
    (found,) = compare_whole([a, b])
    assert found.verdict == "same"
    assert any("aten::rand differs at model.py:9, without effect" in note for note in found.notes)


def test_one_whose_effect_is_a_later_record_is_not(build: Builder) -> None:
    other = rows("two")
    flip(other[find(other, "parameters", 2)])
    found = whole(build, rows("one"), other)
    assert found.verdict == "differs" and found.difference is not None
    assert found.difference.op == "aten::rand"


def test_one_whose_effect_is_only_an_operation_of_a_step_is_not(build: Builder) -> None:
    assert whole(build, rows("one", "one"), rows("two", "two")).verdict == "differs"


def test_an_operation_of_a_step_always_counts(build: Builder) -> None:
    for phase in ("forward", "backward", "evaluation"):
        found = whole(build, rows(later="one", phase=phase), rows(later="two", phase=phase))
        assert found.verdict == "differs", phase


def saved(name: str, content: str = "features") -> Record:
    return record(0, "setup", "saved", name, digest=d(content))


def file(what: str, path: str) -> Record:
    return record(0, "setup", what, "open", digest=d("bytes"), detail=path, call_site="train.py:4")


MAKES = [file("written", "cache/x.pt"), saved("x.pt"), file("written", "cache/y.pt"), saved("y.pt")]
FINDS = [file("opened", "cache/x.pt")]


def test_what_one_run_made_and_the_other_found_is_a_note(build: Builder) -> None:
    a, b = build([*MAKES, *training()]), build([*FINDS, *training()])
    assert compare_all([a, b])[0].verdict == "differs"
    for runs, letter in (((a, b), "A"), ((b, a), "B")):
        (found,) = compare_whole(runs)
        assert found.verdict == "same"
        (note,) = found.notes
        assert f"run {letter} made files that the other one found (cache/x.pt at train.py:4)" in note


@pytest.mark.parametrize(
    ("makes", "finds"),
    [
        (MAKES, []),  # not found: something else kept it from saving them
        (MAKES, [file("opened", "cache/z.pt")]),
        (MAKES, [file("written", "cache/x.pt"), *FINDS]),  # its own
        (MAKES, [*FINDS, saved("more.pt", "more")]),  # the one that found them saved what the other did not
        ([*MAKES, saved("log.pt", "one")], [*FINDS, saved("log.pt", "two")]),
    ],
)
def test_what_only_one_run_saved_counts_otherwise(
    build: Builder, makes: list[Record], finds: list[Record]
) -> None:
    (found,) = compare_whole([build([*makes, *training()]), build([*finds, *training()])])
    assert found.verdict == "differs"


def test_what_the_other_run_found_counts_where_it_shows(build: Builder) -> None:
    other = training()
    flip(other[find(other, "parameters", 2)])
    (found,) = compare_whole([build([*MAKES, *training()]), build([*FINDS, *other])])
    assert found.verdict == "differs" and found.difference is not None
    assert (found.difference.what, found.difference.phase) == ("saved", "setup")


def frozen() -> list[Record]:
    """Features of a frozen network, made before the training; where the training has begun is known later."""
    return [
        record(0, "setup", "parameters", "Frozen", digest=d("frozen")),
        record(0, "evaluation", "input", "Frozen", digest=d("images")),
        operation(0, "aten::conv", "features", phase="evaluation"),
        record(0, "evaluation", "output", "Frozen", digest=d("features")),
        *MAKES,
    ]


def score(digest: str) -> Record:
    return record(0, "evaluation", "output", "Scored", digest=d(digest))


def loads() -> list[Record]:
    return [*FINDS, record(0, "setup", "parameters", "Adam", digest=d("initial"))]


def test_a_model_that_one_run_called_for_the_files_is_a_note(build: Builder) -> None:
    found = whole(build, [*frozen(), *training()], [*loads(), *training()])
    assert found.verdict == "same"
    assert any("run A made files that the other one found" in note for note in found.notes)


@pytest.mark.parametrize("what", ["input", "output", "loss", "gradients", "parameters", "saved"])
def test_it_counts_where_one_bit_of_the_training_differs(build: Builder, what: str) -> None:
    other = training()
    flip(other[find(other, what, 0 if what == "input" else 1)])
    assert whole(build, [*frozen(), *training()], [*loads(), *other]).verdict == "differs"


@pytest.mark.parametrize(
    ("makes", "finds"),
    [
        (frozen(), loads()[1:]),  # nothing was found
        ([*frozen(), score("one")], [*loads(), score("two")]),  # both score something first
        (frozen(), [*loads(), record(0, "evaluation", "output", "Other")]),  # the finder does more
    ],
)
def test_it_counts_where_files_do_not_explain_it(
    build: Builder, makes: list[Record], finds: list[Record]
) -> None:
    assert whole(build, [*makes, *training()], [*finds, *training()]).verdict == "differs"


def test_it_counts_where_an_operation_of_the_training_differs(build: Builder) -> None:
    one, other = training(), training()
    at = find(one, "loss") + 1
    one.insert(at, operation(0, "aten::mean", "one"))
    other.insert(at, operation(0, "aten::mean", "two"))
    assert whole(build, [*frozen(), *one], [*loads(), *other]).verdict == "differs"


def previewed(preview: str) -> list[Record]:
    """A training before which another model is called."""
    made = training()
    at = find(made, "parameters", 0, "setup")
    called = [("setup", "parameters"), ("data", "input"), ("forward", "output")]
    made[at:at] = [record(0, phase, what, "Preview", digest=d(f"{preview} {what}")) for phase, what in called]
    return made


def test_a_model_that_was_called_before_the_training_is_no_part_of_it(build: Builder) -> None:
    a, b = build(previewed("one")), build(previewed("two"))
    first = compare_all([a, b])[0].difference
    assert first is not None and first.name == "Preview"
    assert compare_trainings(a, b).verdict == "same"


@pytest.mark.parametrize(
    ("what", "phase"), [("parameters", "setup"), ("batch", "data"), ("input", "forward"), ("loss", "forward")]
)
def test_what_leads_to_the_first_loss_is_a_part_of_the_training(
    build: Builder, what: str, phase: str
) -> None:
    other = previewed("two")
    found = [at for at, row in enumerate(other) if (row["what"], row["phase"]) == (what, phase)]
    flip(other[next(at for at in found if other[at]["name"] != "Preview")])
    where = compare_trainings(build(previewed("one")), build(other)).difference
    assert where is not None and (where.step, where.phase, where.what) == (0, phase, what)


def test_without_a_loss_the_whole_is_compared(build: Builder) -> None:
    runs = [build([record(0, "evaluation", "output", "CNN", digest=d(word))]) for word in ("one", "two")]
    assert compare_trainings(*runs).verdict == "differs"


def by_hand(weights: str, *, optimizer: bool, preview: str = "") -> list[Record]:
    """A step without a loader, whose loss is a module; before it, perhaps, the model is called."""

    def call(name: str, digest: str) -> list[Record]:
        return [
            record(0, phase, what, name, digest=d(f"{digest} {what}"))
            for phase, what in (("data", "input"), ("forward", "output"))
        ]

    return [
        *(call("Net", preview) if preview else []),
        *([record(0, "setup", "trains", "SGD")] if optimizer else []),
        record(0, "setup", "parameters", "Net", digest=d(weights)),
        *call("Net", weights),
        *call("MSELoss", weights),
        record(0, "forward", "loss", "backward", digest=d(weights)),
        record(0, "optimizer", "parameters", "SGD", digest=d(weights)),
        record(0, "end", "end", "exit"),
    ]


@pytest.mark.parametrize("optimizer", [True, False])
def test_a_loss_that_is_a_module_does_not_begin_the_training(build: Builder, optimizer: bool) -> None:
    runs = [build(by_hand(weights, optimizer=optimizer)) for weights in ("one", "two")]
    where = compare_trainings(*runs).difference
    assert where is not None and (where.what, where.name) == ("parameters", "Net")


def test_a_transform_that_is_a_module_does_not_begin_the_training(build: Builder) -> None:
    made, other = training(), training()
    for rows in (made, other):
        at = find(rows, "batch")
        rows[at:at] = [record(0, "data", what, "Normalize", digest=d(what)) for what in ("input", "output")]
    flip(other[find(other, "parameters", 0, "setup")])
    where = compare_trainings(build(made), build(other)).difference
    assert where is not None and (where.phase, where.what) == ("setup", "parameters")


@pytest.mark.parametrize("optimizer", [True, False])
def test_a_call_before_a_training_without_a_loader_is_no_part_of_it(build: Builder, optimizer: bool) -> None:
    runs = [build(by_hand("one", optimizer=optimizer, preview=image)) for image in ("one", "two")]
    assert compare_all(runs)[0].verdict == "differs"
    assert compare_trainings(*runs).verdict == "same"
