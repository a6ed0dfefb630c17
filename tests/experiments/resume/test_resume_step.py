"""Where a resumed process begins, and from which record of the whole run on it is compared.

Covers `aligned_traces.py` and `epoch_starts.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from samerun.comparing.compare_runs import compare_read
from samerun.comparing.pairing import RecordedRun
from samerun.digest import digest_bytes
from samerun.experiments.resume.aligned_traces import align_continued
from samerun.experiments.resume.epoch_starts import EpochStarts
from samerun.experiments.resume.resume_step import Position, find_position, list_checkpoints
from samerun.experiments.resume.second_kill import SecondKill, choose_second_kill
from samerun.runs.manifest import Manifest
from samerun.runs.reading import Trace, read_trace
from samerun.runs.record import Record as WrittenRecord
from samerun.runs.schema import BESIDE
from samerun.runs.store import Run
from samerun.runs.trace import TraceWriter

Record = dict[str, Any]


def row(step: int, phase: str, what: str, name: str | None, content: object, **more: Any) -> Record:
    digest = None if content is None else digest_bytes(str(content).encode())
    return {"step": step, "phase": phase, "what": what, "name": name, "digest": digest, **more}


def setup(weights: object, name: str = "SGD") -> Record:
    return row(0, "setup", "parameters", name, weights)


def update(step: int, weights: object, name: str = "SGD") -> Record:
    return row(step, "optimizer", "parameters", name, weights)


def batch(step: int, content: object, number: int | None = None) -> list[Record]:
    detail = None if number is None else json.dumps({"workers": 0, "samples": 4, "batch": number})
    indices = row(step, "data", "indices", "Data", content, detail=detail)
    return [indices, row(step, "data", "batch", "Data", content)]


def use(step: int, content: object) -> list[Record]:
    return [
        row(step, "data", "input", "Net", content),
        row(step, "forward", "loss", "backward", content, value=1.0),
    ]


def evaluation(after: int, content: object) -> list[Record]:
    """As the recorder writes it: its batches count for the step to come, its inputs for the last one."""
    return [
        *batch(after + 1, content, 1),
        row(after, "evaluation", "input", "Net", content),
        row(after, "evaluation", "output", "Net", content),
    ]


def saved(step: int) -> Record:
    return row(step, "forward", "saved", "last.pt", "state")


class Traces:
    """Writes traces into a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def __call__(self, *rows: Record) -> Trace:
        self.count += 1
        path = self.folder / f"run{self.count}"
        path.mkdir()
        writer = TraceWriter(path / "rank0.trace.arrow", {"rank": 0, "digests": {"cpu": "x"}})
        for item in rows:
            writer.append(WrittenRecord(**item))
        writer.close()
        Manifest(path.name, ("python", "train.py"), "/there", "", outcome="finished").write(path)
        return read_trace(path / "rank0.trace.arrow")


@pytest.fixture
def traces(tmp_path: Path) -> Traces:
    return Traces(tmp_path)


# --- positions ---------------------------------------------------------------------------------------


def test_the_weights_before_the_first_step_tell_the_position(traces: Traces) -> None:
    whole = traces(setup("w0"), *(update(step, f"w{step + 1}") for step in range(6)))
    for step in range(1, 6):
        found = find_position(whole, traces(setup(f"w{step}"), update(0, "other")), None, 5)
        assert found == Position(step, "weights")


def test_weights_that_stay_the_same_leave_the_choice_to_the_checkpoint(traces: Traces) -> None:
    whole = traces(setup("w0"), *(update(step, f"w{1 + step // 4}") for step in range(12)))
    resumed = traces(setup("w2"), update(0, "other"))
    assert find_position(whole, resumed, 6, 7) == Position(6, "weights")
    assert find_position(whole, resumed, None, 7) == Position(7, "weights")
    assert find_position(whole, resumed, None, 11).step == 8  # w2 from 5 to 8 steps


def test_the_weights_of_the_start_are_told(traces: Traces) -> None:
    whole = traces(setup("w0"), update(0, "w1"), update(1, "w2"))
    assert find_position(whole, traces(setup("w0"), update(0, "w1")), None, 1) == Position(
        0, "weights", True, True
    )
    assert find_position(whole, traces(setup("w0"), update(0, "x")), 1, 1) == Position(
        1, "weights", True, False
    )


def test_weights_restored_after_they_were_first_seen_are_known_by_the_first_step(traces: Traces) -> None:
    whole = traces(setup("w0"), update(0, "w1"), update(1, "w2"), update(2, "w3"))
    assert find_position(whole, traces(setup("w0"), update(0, "w3")), None, 2) == Position(2, "first step")
    assert find_position(whole, traces(update(0, "w3")), None, 2) == Position(2, "first step")


def test_weights_that_are_nowhere_leave_the_checkpoint_then_the_kill(traces: Traces) -> None:
    whole = traces(setup("w0"), update(0, "w1"), update(1, "w2"))
    resumed = traces(setup("x"), update(0, "y"))
    assert find_position(whole, resumed, 1, 2) == Position(1, "checkpoint")
    assert find_position(whole, resumed, None, 2) == Position(2, "kill")


def test_two_optimizers_have_to_agree(traces: Traces) -> None:
    """Each steps in turn, and the second one's weights come back to a value of before."""
    steps = [update(0, "a1", "A"), update(1, "b1", "B"), update(2, "a2", "A"), update(3, "b0", "B")]
    whole = traces(setup("a0", "A"), setup("b0", "B"), *steps)
    rest = (update(0, "x", "A"), update(1, "y", "B"))
    for a, b, step in (("a1", "b0", 1), ("a1", "b1", 2), ("a2", "b1", 3), ("a2", "b0", 4)):
        assert find_position(whole, traces(setup(a, "A"), setup(b, "B"), *rest), None, 9).step == step
    assert find_position(whole, traces(setup("a0", "A"), setup("b1", "B"), *rest), None, 9).by == "kill"


def test_checkpoints_are_counted_in_steps_done(traces: Traces) -> None:
    path = row(2, "forward", "written", "torch.save", None, detail="last.pt")
    trace = traces(setup("w0"), saved(0), update(0, "w1"), update(1, "w2"), path, saved(2), update(2, "w3"))
    assert list_checkpoints(trace) == [(2, "last.pt"), (2, None)]


# --- beginnings --------------------------------------------------------------------------------------


def test_a_step_begins_with_the_last_batch_before_its_first_use(traces: Traces) -> None:
    skipped = [item for number in (1, 2) for item in batch(0, f"skipped {number}", number)]
    trace = traces(*skipped, *batch(0, "used", 3), *use(0, "used"), update(0, "w"))
    found = EpochStarts(trace).of(0)
    assert found is not None
    assert (found.indices, found.batch, found.use, found.start) == (4, 5, 6, 4)
    assert EpochStarts(trace).number(0) == 3
    assert EpochStarts(trace).of(1) is None


def test_the_batches_of_an_evaluation_belong_to_no_step(traces: Traces) -> None:
    """The training has no loader: what it uses is its own."""
    trace = traces(*use(0, "x"), update(0, "w1"), *evaluation(0, "test"), *use(1, "y"), update(1, "w2"))
    found = EpochStarts(trace).of(1)
    assert found is not None
    assert found.batch is None
    assert trace.cell("what", found.start) == "input"
    assert EpochStarts(trace).number(1) is None


# --- compared from there on ----------------------------------------------------------------------------


def verdict(whole: Trace, resumed: Trace, step: int) -> tuple[str, int | None, str | None]:
    joined = align_continued(whole, resumed, step)
    assert joined is not None
    a, b = (RecordedRun(Run(trace.path.parent), [trace]) for trace in (joined.whole, joined.resumed))
    comparison = compare_read(a, b)
    found = comparison.difference
    return comparison.verdict, found and found.step, found and found.what


def steps(first: int, last: int, counted_from: int = 0, **other: object) -> list[Record]:
    """A training's records; `other` is another content at a step, as step3="x"."""
    rows: list[Record] = []
    for step in range(first, last):
        content = other.get(f"step{step}", step)
        at = step - counted_from
        rows += [*batch(at, content, step % 5 + 1), *use(at, content), update(at, content)]
        rows += [saved(at + 1), row(at + 1, "forward", "rng", "torch-cpu", step)]
    return rows


def end(count: int) -> Record:
    return row(count - 1, "end", "end", "finished", count)


def test_steps_are_counted_as_the_whole_run_counts_them(traces: Traces) -> None:
    whole = traces(setup("w0"), *steps(0, 8), end(8))
    assert verdict(whole, traces(setup(2), *steps(3, 8, 3), end(5)), 3) == ("same", None, None)
    other = traces(setup(2), *steps(3, 8, 3, step6="other"), end(5))
    assert verdict(whole, other, 3) == ("differs", 6, "batch")


def test_one_step_more_or_less_is_a_difference(traces: Traces) -> None:
    whole = traces(setup("w0"), *steps(0, 8), end(8))
    assert verdict(whole, traces(setup(2), *steps(3, 9, 3), end(6)), 3)[0] == "differs"
    assert verdict(whole, traces(setup(2), *steps(3, 7, 3), end(4)), 3)[0] == "differs"


def test_an_evaluation_before_the_first_step_does_not_count(traces: Traces) -> None:
    whole = traces(setup("w0"), *steps(0, 4), *evaluation(3, "test"), *steps(4, 8), end(8))
    sanity = [*batch(0, "test", 1), row(0, "evaluation", "output", "Net", "sane")]
    assert verdict(whole, traces(setup(3), *sanity, *steps(4, 8, 4), end(4)), 4)[0] == "same"


def test_weights_seen_at_the_first_call_of_a_model_are_no_record_of_a_step(traces: Traces) -> None:
    whole = traces(setup("w0"), *steps(0, 8), end(8))
    first, *rest = steps(4, 8, 4)
    resumed = traces(setup(3), first, setup("seen", "Net"), *rest, end(4))
    assert verdict(whole, resumed, 4)[0] == "same"


def test_layers_called_to_learn_shapes_before_the_first_step_do_not_count(traces: Traces) -> None:
    """As Keras builds a model: each layer by itself, then all with a batch that has no bytes."""
    shapes = [row(0, "data", "input", "Conv", "meta"), row(0, "forward", "output", "Conv", "meta")]
    shapes += [
        *batch(0, "peeked", 1),
        row(0, "data", "input", "Net", None),
        row(0, "data", "input", "Net(…)", "a keyword that is no tensor"),
    ]
    whole = traces(setup("w0"), *shapes, *steps(0, 8), end(8))
    assert verdict(whole, traces(setup(3), *shapes, *steps(4, 8, 4), end(4)), 4) == ("same", None, None)
    other = traces(setup(3), *shapes, *steps(4, 8, 4, step4="other"), end(4))
    assert verdict(whole, other, 4) == ("differs", 4, "batch")
    first, *rest = steps(4, 8, 4)
    used = traces(setup(3), first, row(0, "data", "input", "Net", "used"), *rest, end(4))
    assert verdict(whole, used, 4)[0] == "differs"


def test_a_model_called_before_the_first_batch_does_not_count_where_steps_begin_with_their_batch(
    traces: Traces,
) -> None:
    """As a graph is drawn of it; not where each step calls it before its batch, as one that makes fakes."""
    graph = [row(0, "data", "input", "Net", "zeros"), row(0, "forward", "output", "Net", "of zeros")]
    whole = traces(setup("w0"), *graph, *steps(0, 8), end(8))
    assert verdict(whole, traces(setup(3), *graph, *steps(4, 8, 4), end(4)), 4) == ("same", None, None)

    def made_first(first: int, moved: int = 0, fake: str = "fake") -> list[Record]:
        each = [steps(at, at + 1, moved) for at in range(first, 8)]
        numbers = range(first - moved, 8 - moved)
        fakes = [row(at, "data", "input", "Net", f"{fake} {at + moved}") for at in numbers]
        return [item for made, of_step in zip(fakes, each, strict=True) for item in (made, *of_step)]

    whole = traces(setup("w0"), *made_first(0), end(8))
    assert verdict(whole, traces(setup(3), *made_first(4, 4), end(4)), 4) == ("same", None, None)
    other = traces(setup(3), *made_first(4, 4, "other"), end(4))
    assert verdict(whole, other, 4) == ("differs", 4, "input")


def test_a_checkpoint_in_the_middle_of_a_step_is_gone_on_from_there(traces: Traces) -> None:
    halves = [*batch(1, "b2", 3), *use(1, "b2"), *batch(1, "b3", 4), *use(1, "b3"), update(1, "w2")]
    whole = traces(setup("w0"), *batch(0, "b0", 1), *use(0, "b0"), update(0, "w1"), *halves, end(2))
    rest = [*batch(0, "b3", 1), *use(0, "b3")]
    assert verdict(whole, traces(setup("w1"), *rest, update(0, "w2"), end(1)), 1)[0] == "same"
    resumed = traces(setup("w1"), *rest, update(0, "lost"), end(1))
    assert verdict(whole, resumed, 1) == ("differs", 1, "parameters")
    joined = align_continued(whole, resumed, 1)
    assert joined is not None
    assert joined.left_out == 1


# --- the second kill -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first, last, own, expected",
    [
        (1, 11, 99, SecondKill(4, True)),  # a few steps later
        (0, 11, 4, SecondKill(4, True)),  # with a checkpoint of the resumed process
        (2, 11, 4, SecondKill(4, True)),  # the epoch ends with step 4
        (4, 11, 99, SecondKill(7, False)),  # it has ended
        (1, 2, 99, SecondKill(2, True)),  # the training ends
        (2, 2, 99, None),
    ],
)
def test_where_the_second_kill_is(
    first: int, last: int, own: int, expected: SecondKill | None, traces: Traces
) -> None:
    whole = traces(setup("w0"), *steps(0, 12))
    resumed = traces(*(update(step, step) for step in range(own)), *([saved(own)] if own < 99 else []))
    assert choose_second_kill(whole, resumed, 0, first, last) == expected


def test_without_a_loader_no_epoch_is_known(traces: Traces) -> None:
    whole = traces(*(item for step in range(9) for item in (*use(step, step), update(step, step))))
    assert choose_second_kill(whole, traces(update(0, 0)), 0, 2, 8) == SecondKill(5, None)


@pytest.mark.parametrize("same", [True, False])
def test_buffers_are_compared_where_one_run_kept_no_single_digests(traces: Traces, same: bool) -> None:
    """As in a long run, that keeps them now and then."""
    parts = digest_bytes(b"mean")

    def step(number: int, content: object, **more: Any) -> list[Record]:
        named = row(0, "setup", "names", "buffers:buffers", None, detail='["Net.mean"]')
        buffers = row(number, "optimizer", "buffers", "buffers", content, **more)
        return [named, *batch(number, "b"), *use(number, "b"), update(number, "w"), buffers]

    whole = traces(*step(0, "before"), *step(1, "mean"))
    resumed = traces(*step(0, "mean" if same else "another mean", parts=parts))
    both = align_continued(whole, resumed, 1)
    assert both is not None
    at = [trace.is_one_of("what", {"buffers"}) for trace in (both.whole, both.resumed)]
    assert [int(rows.sum()) for rows in at] == [1, 1]
    one, other = (trace.digests[0][rows] for trace, rows in zip((both.whole, both.resumed), at, strict=True))
    assert bool((one == other).all()) is same


LATE, SECOND, LAST = (1, "late"), (3, "second"), (4, "last")


@pytest.mark.parametrize(
    ("saved", "again", "kept"),
    [
        ([LATE, SECOND, LAST], ["second", "last"], ["second", "last"]),
        ([LATE, SECOND, LAST], ["late", "second", "last"], ["late", "second", "last"]),
        ([LATE, SECOND, LAST], ["last"], ["second", "last"]),  # the second one is missing
        ([LATE, SECOND, LAST], [], ["second", "last"]),
        ([LATE], [], []),
        ([LAST], [], ["last"]),
        ([LAST], ["other"], ["last"]),
    ],
)
def test_a_save_beside_the_training_that_came_late(
    traces: Traces, saved: list[tuple[int, str]], again: list[str], kept: list[str]
) -> None:
    """A thread may still write the checkpoint from which the other run goes on; later ones count."""

    def save(step: int, content: str) -> Record:
        return row(step, "evaluation", "saved", "ck.pt", content, flags=BESIDE)

    def step(number: int, saves: list[tuple[int, str]]) -> list[Record]:
        here = [save(*each) for each in saves if each[0] == number]
        return [*batch(number, "b"), *use(number, "b"), update(number, "w"), *here]

    whole = traces(*(each for number in range(5) for each in step(number, saved)))
    resumed = traces(*(each for number in range(4) for each in step(number, [(3, name) for name in again])))
    both = align_continued(whole, resumed, 1)
    assert both is not None
    found = both.whole.rows(both.whole.is_one_of("what", {"saved"}))
    assert [each.digest for each in found] == [digest_bytes(name.encode()) for name in kept]
