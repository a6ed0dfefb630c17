"""What is said of a record that only one of two runs has."""

from __future__ import annotations

from comparing.build import Builder, find, record, training

from samerun.comparing.compare_runs import compare_whole
from samerun.runs.store import Run


def list_notes(a: Run, b: Run) -> list[str]:
    (found,) = compare_whole((a, b))
    assert found.verdict == "differs"
    return [note for note in found.notes if "run A" in note]


def test_a_checkpoint_that_one_run_alone_saves_at_its_end_is_named(build: Builder) -> None:
    rows = training()
    saved = record(2, "end", "saved", "model.pt")
    runs = build([*rows[:-1], saved, rows[-1]]), build(training())
    assert list_notes(*runs) == ["only run A saves model.pt; run B ends without it"]
    assert list_notes(*reversed(runs)) == ["only run B saves model.pt; run A ends without it"]


def test_a_checkpoint_that_one_run_alone_saves_on_its_way_is_named(build: Builder) -> None:
    rows = training()
    at = find(rows, "indices", 1)
    (note,) = list_notes(build([*rows[:at], record(0, "end", "saved", "best.pt"), *rows[at:]]), build(rows))
    assert note.startswith("only run A saves best.pt; run B has ")


def test_a_further_call_of_the_model_is_called_that(build: Builder) -> None:
    rows = training()
    at = find(rows, "input", 1)
    name = rows[at]["name"]
    more = [record(0, "evaluation", "input", name, digest=rows[at]["digest"][::-1])]
    runs = build(rows), build([*rows[:at], *more, *rows[at:]])
    assert list_notes(*runs) == [
        f"only run B makes a further call of the model {name} in step 0 (evaluation); "
        "run A goes on with that of step 1"
    ]


def test_the_steps_of_whole_runs_are_compared(build: Builder) -> None:
    notes = list_notes(build(training(4), steps=4), build(training(2), steps=2))
    assert notes[-1] == "run A makes 4 optimizer steps, run B 2"
    assert notes[0].startswith("only run A has ") and notes[0].endswith("; run B ends without it")
    stopped = list_notes(
        build(training(4), steps=4), build(training(2, "raised"), steps=2, outcome="failed", exit_code=1)
    )
    assert not any("optimizer steps" in note for note in stopped)
