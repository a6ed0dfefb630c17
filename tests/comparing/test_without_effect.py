"""What reached neither a loss, a weight nor an evaluation does not count, and one bit of these does."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.comparing.pairing import RecordedRun, read
from samerun.comparing.without_effect import finds, shares_tasks, trained_alike
from samerun.runs.schema import RENAMED, SAVED, TRAINING

from .build import Builder, Record, d, find, flip, group, record, training, write

SEEN = ["loss", "gradients", "parameters", "buffers", "optimizer", "output", "saved"]


def alike(build: Builder, one: list[Record], other: list[Record]) -> bool:
    return trained_alike(read(build(one)), read(build(other)))


def with_first(*rows: Record) -> list[Record]:
    """A training with these records before its own."""
    made = training()
    at = find(made, "indices")
    return [*made[:at], *rows, *made[at:]]


def preview(content: str) -> Record:
    return record(0, "data", "batch", "Preview", digest=d(content))


def counted(content: str) -> list[Record]:
    """A call of the model, or of another, before the training: its weights, and what went in and came out."""
    return [
        group(0, "setup", "parameters", "Other", content),
        record(0, "data", "input", "Other", digest=d(f"{content} in")),
        record(0, "forward", "output", "Other", digest=d(f"{content} out")),
    ]


def test_a_batch_that_no_model_saw_does_not_count(build: Builder) -> None:
    assert alike(build, with_first(preview("one")), with_first(preview("two")))
    assert alike(build, with_first(preview("one")), training())


def test_a_model_that_was_thrown_away_before_does_not_count(build: Builder) -> None:
    assert alike(build, with_first(*counted("one")), with_first(*counted("two")))


@pytest.mark.parametrize("what", SEEN)
@pytest.mark.parametrize("step", [0, 2])
def test_one_bit_of_the_training_counts(build: Builder, what: str, step: int) -> None:
    other = with_first(preview("two"))
    at = find(other, what, step, {"output": "evaluation", "parameters": "optimizer"}.get(what))
    flip(other[at])
    assert not alike(build, with_first(preview("one")), other)


def test_an_evaluation_that_one_run_made_does_not_count_and_what_came_out_of_both_does(
    build: Builder,
) -> None:
    more = training()
    more.insert(find(more, "saved", 1), record(1, "evaluation", "output", "CNN", digest=d("again")))
    assert alike(build, more, training())
    trained = training()
    trained.insert(find(trained, "loss", 1), record(1, "forward", "output", "CNN", digest=d("again")))
    assert not alike(build, trained, training())


@pytest.mark.parametrize("what", ["loss", "parameters", "saved"])
def test_a_record_that_one_run_lacks_counts(build: Builder, what: str) -> None:
    other = training()
    del other[find(other, what, 2)]
    assert not alike(build, training(), other)


def test_what_was_saved_before_the_training_counts(build: Builder) -> None:
    one, two = (record(0, "setup", "saved", "x.pt", digest=d(text)) for text in ("one", "two"))
    assert not alike(build, with_first(one), with_first(two))


def test_it_cannot_be_told_without_model_inputs_steps_or_an_end(build: Builder) -> None:
    blind = [row for row in training() if row["what"] != "input"]
    assert not alike(build, blind, blind)
    assert not alike(build, training(0), training(0))
    assert not alike(build, training()[:-1], training()[:-1])
    assert not alike(build, training(), training(how="raised ValueError"))


def test_it_cannot_be_told_where_a_process_is_in_one_run_alone(build: Builder) -> None:
    assert not trained_alike(read(build(training())), read(build(training(), training())))


def in_threads(*rows: Record) -> list[Record]:
    """A training of which each of two threads makes a part."""
    return with_first(record(0, "forward", "threads", TRAINING, value=2.0), *rows)


@pytest.mark.parametrize("what", ["loss", "gradients", "parameters", "output", "saved"])
def test_steps_of_several_threads_may_come_in_another_order_and_each_counts(
    build: Builder, what: str
) -> None:
    one = in_threads()
    other = in_threads()
    first, second = (find(other, "loss", step) for step in (0, 1))
    other[first]["digest"], other[second]["digest"] = other[second]["digest"], other[first]["digest"]
    assert alike(build, one, other)
    at = find(other, what, 2)
    flip(other[at])
    assert not alike(build, one, other)


def test_the_order_counts_where_one_thread_trains(build: Builder) -> None:
    other = training()
    first, second = (find(other, "loss", step) for step in (0, 1))
    other[first]["digest"], other[second]["digest"] = other[second]["digest"], other[first]["digest"]
    assert not alike(build, training(), other)
    assert not alike(build, in_threads(), other)


def test_the_numbers_of_names_follow_the_threads(build: Builder) -> None:
    one, other = in_threads(), in_threads()
    for row in other:
        if row["what"] == "parameters":
            row["name"] = f"{row['name']}#1"
    assert alike(build, one, other)


def of_processes(
    build: Builder, *trainings: list[Record], name: str = "ForkProcess", parent: list[Record] | None = None
) -> RecordedRun:
    run = build() if parent is None else build(parent)
    for number, rows in enumerate(trainings, start=1):
        role = f"{name}-{number}"
        write(run.path, f"rank0.{role}", rows, {"rank": 0, "role": role, "pair": f"0|{role}||0"}, True)
    return read(run)


@pytest.mark.parametrize("name", ["ForkProcess", "SpawnPoolWorker", "Client"])
def test_which_process_of_a_pool_trains_what_does_not_count(build: Builder, name: str) -> None:
    """What a user calls a process says what it is for."""
    other = training()
    flip(other[find(other, "loss", 1)])
    one = of_processes(build, training(), other, name=name)
    assert trained_alike(one, of_processes(build, other, training(), name=name)) == (name != "Client")


@pytest.mark.parametrize("what", SEEN)
def test_one_bit_of_what_a_pool_trains_counts(build: Builder, what: str) -> None:
    other, changed = training(), training()
    flip(other[find(other, "loss", 1)])
    flip(changed[find(changed, what, 2, {"output": "evaluation", "parameters": "optimizer"}.get(what))])
    one = of_processes(build, training(), other)
    assert not trained_alike(one, of_processes(build, other, changed))
    assert not trained_alike(one, of_processes(build, other, other))
    assert not trained_alike(one, of_processes(build, other))


def test_what_started_a_pool_need_not_train_and_what_it_saves_counts(build: Builder) -> None:
    def parent(content: str) -> list[Record]:
        rows = [row for row in training(0) if row["what"] != "input"]
        return [*rows[:-1], record(0, "setup", "saved", "soup.pt", digest=d(content)), rows[-1]]

    other = training()
    flip(other[find(other, "loss", 1)])
    one = of_processes(build, training(), other, parent=parent("all"))
    assert trained_alike(one, of_processes(build, other, training(), parent=parent("all")))
    assert not trained_alike(one, of_processes(build, other, training(), parent=parent("others")))
    assert not trained_alike(one, of_processes(build, other, training()))


def test_a_process_shares_tasks_with_others_of_its_pool_that_train(build: Builder) -> None:
    run = of_processes(build, training(), training(), training(0), parent=training())
    assert shares_tasks(run, "rank0.ForkProcess-1")
    assert not any(shares_tasks(run, process) for process in ("rank0", "rank0.ForkProcess-3", "gone"))
    assert not shares_tasks(of_processes(build, training()), "rank0.ForkProcess-1")
    assert shares_tasks(read(build(in_threads())), "rank0")
    assert not shares_tasks(read(build(training())), "rank0")


def test_files_of_a_pool_are_known_by_their_names_but_for_the_number_of_a_process(build: Builder) -> None:
    def save(name: str, content: str) -> list[Record]:
        made = training()
        made.insert(find(made, "saved", 1), record(1, "optimizer", "saved", name, digest=d(content)))
        return made

    one = of_processes(build, save("0-21509.pt", "a"), save("1-21510.pt", "b"))
    assert trained_alike(one, of_processes(build, save("1-31509.pt", "b"), save("0-31510.pt", "a")))
    assert not trained_alike(one, of_processes(build, save("0-31509.pt", "b"), save("1-31510.pt", "a")))


def test_a_pool_of_which_no_model_input_was_recorded_proves_nothing(build: Builder) -> None:
    other = training()
    flip(other[find(other, "loss", 1)])
    seen = [[row for row in rows if row["what"] != "input"] for rows in (training(), other)]
    assert not trained_alike(of_processes(build, *seen), of_processes(build, *reversed(seen)))


def recorded(build: Builder, *rows: Record) -> RecordedRun:
    return read(build([*rows, *training()]))


def file(what: str, path: str) -> Record:
    return record(0, "setup", what, "open", detail=path, call_site="train.py:3")


def test_what_a_run_reads_that_the_other_wrote(tmp_path: Path) -> None:
    build = Builder(tmp_path)
    left = recorded(build, file("written", "cache.pt"), file("written", "log"))
    found = finds(recorded(build, file("opened", "data"), file("opened", "cache.pt")), left)
    assert found is not None
    assert (found.detail, found.call_site) == ("cache.pt", "train.py:3")


def test_not_what_it_wrote_itself_and_not_what_nobody_wrote(tmp_path: Path) -> None:
    build = Builder(tmp_path)
    left = recorded(build, file("written", "cache.pt"))
    assert finds(recorded(build, file("written", "cache.pt"), file("opened", "cache.pt")), left) is None
    assert finds(recorded(build, file("opened", "data")), left) is None


def saves(*files: tuple[str, str], how: str = SAVED) -> list[Record]:
    """A training that saves these contents into these files in its first step, one after the other."""
    made = training()
    rows = []
    for path, content in files:
        rows.append(record(0, "optimizer", "written", how, detail=path))
        rows.append(record(0, "optimizer", "saved", path, digest=d(content)))
    at = find(made, "saved", 0)
    return [*made[:at], *rows, *made[at:]]


def test_what_is_saved_into_one_file_again_counts_as_it_is_left(build: Builder) -> None:
    """As by the clock, each so many seconds."""
    last = ("last.pt", "end")
    assert alike(
        build, saves(("last.pt", "one"), last), saves(("last.pt", "two"), ("last.pt", "three"), last)
    )
    assert alike(build, saves(("last.pt", "one"), last), saves(last))
    assert not alike(build, saves(("last.pt", "one"), last), saves(("last.pt", "one"), ("last.pt", "other")))
    assert not alike(build, saves(last), saves())
    assert not alike(build, saves(("first.pt", "one"), last), saves(("first.pt", "two"), last))
    assert not alike(
        build, saves(("a/x.pt", "one"), ("b/x.pt", "x")), saves(("a/x.pt", "two"), ("b/x.pt", "x"))
    )


def test_what_may_have_got_another_name_meanwhile_counts(build: Builder) -> None:
    """A copy of it, or it itself: the last of a file is not all that is left of it."""
    named = record(1, "optimizer", "written", RENAMED, detail="best.pt")
    other = record(1, "optimizer", "written", "open", detail="log.txt")
    one, two = (saves(("last.pt", text), ("last.pt", "end")) for text in ("one", "two"))
    assert alike(build, [other, *one], [other, *two])
    assert not alike(build, [named, *one], [named, *two])
    backup = record(1, "optimizer", "written", RENAMED, detail="last.pt.bak")
    assert not alike(build, [backup, *one], [backup, *two])
    read = record(1, "optimizer", "opened", "open", detail="last.pt")  # as shutil.copy does
    assert not alike(build, [read, *one], [read, *two])
    elsewhere = {**read, "detail": "data.pt"}
    assert alike(build, [elsewhere, *one], [elsewhere, *two])
