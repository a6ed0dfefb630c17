"""What counts of whole runs: results do, and what reached nothing does not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from comparing.build import Builder, Record, d, find, flip, record, training, write

from samerun.comparing.compare_runs import compare_whole
from samerun.comparing.comparison import Comparison
from samerun.experiments.what_counts import weigh
from samerun.runs.ignored import IgnoredNames
from samerun.runs.schema import SAVED
from samerun.runs.store import Run
from samerun.runs.written import WrittenFile, save_written


def made(folder: Path, rows: list[Record], prints: str = "loss 0.5\n", outcome: str = "finished") -> Run:
    build = Builder(folder)
    build.count = len(list(folder.iterdir()))
    run = build(rows, outcome=outcome)
    (run.path / "output.txt").write_text(prints)
    return run


def preview(content: str) -> list[Record]:
    """A training after a batch that no model sees."""
    rows = training()
    at = find(rows, "indices")
    taken = record(0, "data", "pass", "Preview", digest=None, call_site="train.py:3")
    return [*rows[:at], taken, record(0, "data", "batch", "Preview", digest=d(content)), *rows[at:]]


def weighed(*runs: Run) -> Comparison:
    (found,) = weigh(runs, compare_whole(runs))
    return found


def test_what_reached_nothing_is_a_note_that_names_the_line(tmp_path: Path) -> None:
    found = weighed(made(tmp_path, preview("one")), made(tmp_path, preview("two")))
    assert (found.verdict, found.difference) == ("same", None)
    (note,) = found.notes
    assert note.startswith("batch Preview differs at train.py:3 (step 0, data), without effect on any loss")
    assert "batch" not in found.scope.counts and found.scope.counts["loss"] == 3


def test_it_counts_where_a_result_differs(tmp_path: Path) -> None:
    found = weighed(made(tmp_path, preview("one")), made(tmp_path, preview("two"), "loss 0.25\n"))
    assert found.verdict == "differs" and found.difference is not None
    assert found.difference.what == "batch"


def test_it_counts_where_the_loss_is_no_number(tmp_path: Path) -> None:
    """That is equal whatever went into it."""
    both = preview("one"), preview("two")
    for rows in both:
        rows[find(rows, "loss", 1)]["value"] = math.nan
    found = weighed(*(made(tmp_path, rows) for rows in both))
    assert found.verdict == "differs"


@pytest.mark.parametrize("what", ["loss", "gradients", "parameters", "buffers", "optimizer"])
def test_it_counts_where_one_bit_of_the_training_differs(tmp_path: Path, what: str) -> None:
    other = preview("two")
    flip(other[find(other, what, 2)])
    assert weighed(made(tmp_path, preview("one")), made(tmp_path, other)).verdict == "differs"


def test_it_counts_in_runs_that_were_stopped(tmp_path: Path) -> None:
    runs = [made(tmp_path, preview(text), outcome="stopped") for text in ("one", "two")]
    assert weighed(*runs).verdict == "differs"


def test_a_process_of_a_pool_may_end_earlier_where_another_does_its_tasks(tmp_path: Path) -> None:
    def pooled(*trainings: list[Record]) -> Run:
        run = made(tmp_path, [row for row in training(0) if row["what"] != "input"])
        for number, rows in enumerate(trainings, start=1):
            role = f"SpawnProcess-{number}"
            write(run.path, f"rank0.{role}", rows, {"rank": 0, "role": role, "pair": f"0|{role}||0"}, True)
        return run

    one = pooled(training(6), training(3))
    found = weighed(one, pooled(training(3), training(6)))
    assert found.verdict == "same" and "which of them gets a task" in found.notes[0]
    less = weighed(one, pooled(training(3), training(5)))
    assert less.difference is not None and less.difference.kind == "ended"


def test_equal_runs_with_another_result_differ_and_with_other_times_do_not(tmp_path: Path) -> None:
    first = made(tmp_path, training(), "loss 0.5\ntook 1 s\n")
    assert weighed(first, made(tmp_path, training(), "loss 0.5\ntook 2 s\n")).verdict == "same"
    found = weighed(first, made(tmp_path, training(), "loss 0.25\ntook 1 s\n"))
    assert found.verdict == "differs" and found.difference is not None
    assert (found.difference.what, found.difference.step) == ("printed", 0)


def wrote(run: Run, file: WrittenFile) -> Run:
    save_written({"m.json" if file.digest is None else "m.pkl": file}, run.path)
    return run


def test_equal_runs_that_wrote_another_result_differ_at_its_line(tmp_path: Path) -> None:
    runs = [
        wrote(made(tmp_path, training()), WrittenFile("train.py:9", {"acc": acc})) for acc in (0.5, 0.5, 0.25)
    ]
    assert weighed(*runs[:2]).verdict == "same"
    found = weighed(runs[0], runs[2])
    assert found.verdict == "differs" and found.difference is not None
    assert (found.difference.what, found.difference.name) == ("written", "acc in m.json")
    assert found.difference.call_site == "train.py:9"
    assert (found.difference.site_in, found.difference.other_site) == ("a", "train.py:9")
    assert "run A writes 0.5 as acc in m.json, run B 0.25" in found.notes
    moved = wrote(made(tmp_path, training()), WrittenFile("train.py:7", {"acc": 0.25}))
    found = weighed(runs[0], moved)
    assert found.difference is not None
    assert (found.difference.call_site, found.difference.other_site) == ("train.py:9", "train.py:7")


def test_a_file_that_is_not_read_is_a_note_and_nothing_is_left_out_beside_it(tmp_path: Path) -> None:
    one, two = WrittenFile(None, digest="a"), WrittenFile(None, digest="b")
    equal = weighed(wrote(made(tmp_path, training()), one), wrote(made(tmp_path, training()), two))
    assert equal.verdict == "same"
    assert any(note.startswith("m.pkl, which the runs wrote, is not the same") for note in equal.unjudged)
    runs = wrote(made(tmp_path, preview("one")), one), wrote(made(tmp_path, preview("two")), two)
    assert weighed(*runs).verdict == "differs"


IGNORED = IgnoredNames((("accuracy", "a bootstrap"), ("*metrics.json", "has its time"), ("took *", "a time")))


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("accuracy 0.5\n", "accuracy 0.25\n", "same"),
        ("epoch 1: loss 0.5 accuracy: 0.5\n", "epoch 1: loss 0.5 accuracy: 0.25\n", "same"),
        ("epoch 1: loss 0.5 accuracy: 0.5\n", "epoch 1: loss 0.75 accuracy: 0.25\n", "differs"),
        ("took 1 s, error 0.5\n", "took 2 s, error 0.75\n", "same"),
        ("we took 1 s, error 0.5\n", "we took 2 s, error 0.75\n", "differs"),
    ],
)
def test_a_result_that_is_ignored_is_left_out_and_named(
    tmp_path: Path, one: str, other: str, verdict: str
) -> None:
    runs = made(tmp_path, training(), one), made(tmp_path, training(), other)
    assert weighed(*runs).verdict == "differs"
    found = weighed(*(run.ignoring(IGNORED) for run in runs))
    assert found.verdict == verdict
    if verdict == "same":
        (left_out,) = found.left_out
        assert left_out.what == "printed"
        assert any(left_out.name in note and left_out.reason in note for note in found.notes)
    else:
        assert found.difference is not None and found.difference.what == "printed"


def test_files_and_values_are_ignored_by_their_names(tmp_path: Path) -> None:
    def run(accuracy: float, error: float) -> Run:
        found = made(tmp_path, training())
        files = {
            "out/metrics.json": WrittenFile("train.py:9", {"f1": accuracy}),
            "all.json": WrittenFile("train.py:10", {"accuracy": accuracy, "error": error}),
        }
        save_written(files, found.path)
        return found

    runs = run(0.5, 0.5), run(0.25, 0.5), run(0.25, 0.75)
    assert weighed(*runs[:2]).verdict == "differs"
    found = weighed(*(item.ignoring(IGNORED) for item in runs[:2]))
    assert found.verdict == "same"
    assert {item.name for item in found.left_out} == {"out/metrics.json", "accuracy in all.json"}
    found = weighed(*(item.ignoring(IGNORED) for item in runs[1:]))
    assert found.difference is not None and found.difference.name == "error in all.json"


def test_a_file_that_is_saved_at_other_times_and_ends_as_the_same_is_a_note(tmp_path: Path) -> None:
    def saves_in(*steps: int, last: str = "end") -> Run:
        rows = training()
        for step in steps:
            at = find(rows, "loss", step)
            content = last if step == steps[-1] else f"step {step}"
            rows.insert(at, record(step, "forward", "saved", "last.pt", digest=d(content)))
            rows.insert(at, record(step, "forward", "written", SAVED, detail="ckpt/last.pt"))
        return made(tmp_path, rows)

    found = weighed(saves_in(0, 1, 2), saves_in(1, 2))
    assert found.verdict == "same"
    assert found.notes == ("last.pt is saved in other steps of each run, and holds the same at the end",)
    assert weighed(saves_in(0, 1, 2), saves_in(1, 2, last="other")).verdict == "differs"
