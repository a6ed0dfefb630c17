"""What only one of two runs prints or writes is a note; between two states of the code, perhaps more."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing.build import Builder, training

from samerun.comparing.compare_runs import compare_whole
from samerun.comparing.comparison import Comparison
from samerun.experiments.one_sided_results import describe_one_sided, find_one_sided
from samerun.experiments.what_counts import weigh
from samerun.runs.store import Run
from samerun.runs.written import Value, WrittenFile, save_written
from samerun.sources.code import Code

Files = dict[str, dict[str, Value] | str]


def made(folder: Path, version: str, prints: str = "", files: Files | None = None) -> Run:
    build = Builder(folder)
    build.count = len(list(folder.iterdir()))
    run = build(training(), settings={Code.id: {"train.py": version}})
    (run.path / "output.txt").write_text(prints)
    written = {
        path: WrittenFile(None, text=held)
        if isinstance(held, str)
        else WrittenFile(f"train.py:{len(path)}", held)
        for path, held in (files or {}).items()
    }
    save_written(written, run.path)
    return run


def weighed(a: Run, b: Run, apart: bool = True) -> Comparison:
    (found,) = weigh((a, b), compare_whole((a, b)), recorded_apart=apart)
    return found


MOVED: list[tuple[str, Files, str, Files]] = [
    ("accuracy: {}", {}, "[test] accuracy = {}", {}),
    ("", {"m.json": {"accuracy": 1}}, "", {"results/m.json": {"accuracy": 1}}),
    ("", {"m.json": {"accuracy": 1}}, "", {"m.json": {"test_accuracy": 1}}),
    ("", {"m.csv": {"0.acc": 0.5, "1.acc": 1}}, "", {"m.csv": {"0.val_acc": 0.5, "1.val_acc": 1}}),
    ("accuracy: {}", {}, "", {"m.json": {"accuracy": 1}}),
    ("", {"r.txt": "accuracy {}"}, "", {"out/r.txt": "test accuracy {}"}),
    ("", {"p.npy": {"array": 1}}, "", {"out/p.npy": {"array": 1}}),
]


def fill(text: str, files: Files, value: float) -> tuple[str, Files]:
    filled: Files = {
        path: held.format(value)
        if isinstance(held, str)
        else {name: value if item == 1 else item for name, item in held.items()}
        for path, held in files.items()
    }
    return text.format(value), filled


@pytest.mark.parametrize(("value", "verdict"), [(0.95, "same"), (0.8833, "differs")])
@pytest.mark.parametrize("moved", MOVED)
def test_a_result_of_another_name_or_file_counts_where_its_value_is_another(
    tmp_path: Path, moved: tuple[str, Files, str, Files], value: float, verdict: str
) -> None:
    a = made(tmp_path, "old", *fill(*moved[:2], 0.95))
    b = made(tmp_path, "new", *fill(*moved[2:], value))
    found = weighed(a, b)
    assert found.verdict == verdict
    notes = [note for note in (*found.notes, *found.unjudged) if "only run" in note]
    assert len(notes) == 1 and "only run A" in notes[0] and "only run B" in notes[0]
    if found.difference is not None:
        assert (found.difference.kind, found.difference.run) == ("flow", "b")
    assert weighed(a, b, apart=False).verdict == "same"
    assert weighed(a, made(tmp_path, "old", *fill(*moved[2:], value))).verdict == "same"  # of one code


def test_what_the_other_run_lost_is_a_note(tmp_path: Path) -> None:
    a = made(tmp_path, "old", "accuracy: 0.95\n", {"metrics.json": {"accuracy": 0.95}})
    for pair in ((a, made(tmp_path, "new")), (made(tmp_path, "new"), a)):
        found = weighed(*pair)
        run = "A" if pair[0] is a else "B"
        assert found.verdict == "same"
        assert found.unjudged[0] == (
            f"only run {run} prints 'accuracy: 0.95'; only run {run} writes metrics.json (accuracy 0.95)"
        )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("accuracy 0.95", "test accuracy 0.9500"),
        ("accuracy 0.88333333", "test accuracy 0.8833"),
        ("accuracy 0.88333333", "test accuracy 88.33 %"),
        ("accuracy 0.95", "test accuracy 0.95\nfinal error 0.05"),  # one more
        ("loss 1e-05", "the loss: 0.00001"),
    ],
)
def test_a_number_in_another_form_is_the_same(tmp_path: Path, one: str, other: str) -> None:
    assert weighed(made(tmp_path, "old", one), made(tmp_path, "new", other)).verdict == "same"


@pytest.mark.parametrize(
    ("one", "other"),
    [("accuracy 0.88333333", "test accuracy 0.8834"), ("accuracy 1", "test accuracy 0.8833")],
)
def test_a_number_with_another_digit_is_not(tmp_path: Path, one: str, other: str) -> None:
    assert weighed(made(tmp_path, "old", one), made(tmp_path, "new", other)).verdict == "differs"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("step 10 loss 0.5", "step 12 loss 0.25"),  # a line every few seconds
        ("10:00:01 best loss 0.5 in /tmp/a1", "10:00:02 best loss 0.5 in /tmp/b2"),
        ("took 1.5 s", "time: 1.25"),
        ("loss 0.5 3.2it/s", "at 3.1it/s: loss 0.5"),
        ("seen 5", "counted 6"),
    ],
)
def test_lines_that_are_alike_or_no_result_are_not_named(tmp_path: Path, one: str, other: str) -> None:
    assert describe_one_sided(find_one_sided(made(tmp_path, "", one), made(tmp_path, "", other))) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"out/10-01/m.json": {"acc": 0.5}}, {"out/10-02/m.json": {"acc": 0.5}}),
        ({"c_10.json": {"acc": 0.5}, "c_20.json": {"acc": 0.5}}, {"c_12.json": {"acc": 0.5}}),
        ({"m.csv": {"0.acc": 0.5, "1.acc": 0.6}}, {"m.csv": {"0.acc": 0.5}}),
        ({"m.json": {"seconds": 0.5}}, {"m.json": {"took": 0.5}}),
        ({"m.json": {"run_id": 5}}, {}),
    ],
)
def test_files_named_by_times_and_values_that_are_no_result_are_not_named(
    tmp_path: Path, one: Files, other: Files
) -> None:
    runs = made(tmp_path, "", "", one), made(tmp_path, "", "", other)
    assert describe_one_sided(find_one_sided(*runs)) is None


def test_of_many_results_some_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    names = ("accuracy", "f1", "precision", "recall", "loss")
    a = made(
        tmp_path, "", "\n".join(f"{name} = 0.5" for name in names), {"m.json": dict.fromkeys(names, 0.5)}
    )
    said = describe_one_sided(find_one_sided(a, made(tmp_path, "")))
    assert said is not None and said.endswith(
        "only run A prints 'precision = 0.5'; 3 more results are of run A alone"
    )


def test_lines_that_are_alike_are_named_once(tmp_path: Path) -> None:
    a = made(tmp_path, "", "step 1 loss 0.5\nstep 2 loss 0.4\nstep 3 loss 0.3\nacc 0.5")
    assert describe_one_sided(find_one_sided(a, made(tmp_path, ""))) == (
        "only run A prints 'step 1 loss 0.5' and 2 lines like it; only run A prints 'acc 0.5'"
    )
