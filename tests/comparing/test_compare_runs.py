"""The verdict: same only when everything that decides is there in both runs and equal.

Covers `alignment.py`, `compare_process.py`, `describing/difference.py`, `extent.py` and `pairing.py`.
"""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samerun.comparing.compare_runs import compare, compare_all, find_earliest
from samerun.errors import RunError, SchemaError

from .build import Builder, Record, compared, d, end, find, flip, group, operation, record, training, write

ROWS = training()


def test_a_run_and_itself(build: Builder) -> None:
    run = build(training())
    result = compare(run, run)
    assert (result.verdict, result.reason, result.difference) == ("same", None, None)
    assert result.scope.steps == 3
    assert result.scope.ranks == 1
    assert result.scope.counts["gradients"] == 3
    assert result.scope.counts["parameters"] == 4
    assert result.losses[0] == result.losses[1] == {0: (1.0,), 1: (0.5,), 2: (1 / 3,)}


@pytest.mark.parametrize("at", compared(ROWS), ids=lambda at: f"{ROWS[at]['step']}-{ROWS[at]['what']}-{at}")
def test_one_bit_in_any_record_that_decides(build: Builder, at: int) -> None:
    changed = copy.deepcopy(ROWS)
    flip(changed[at])
    result = compare(build(ROWS), build(changed))
    assert result.verdict == "differs"
    first = result.difference
    assert first is not None
    row = changed[at]
    assert (first.step, first.phase, first.what) == (row["step"], row["phase"], row["what"])
    expected = row["name"]
    if row["what"] in ("gradients", "optimizer") or (row["what"] == "parameters" and row["phase"] != "setup"):
        expected = "fc.weight"
    elif "parts" in row:
        expected = f"{row['name']}[2]"  # no names were written for this group
    assert first.name == expected
    assert first.kind == ("ended" if row["what"] == "end" else "value")


def test_the_name_of_what_is_saved_is_no_difference_and_its_content_is(build: Builder) -> None:
    """As in f"{datetime.now():%H%M%S}-{step}.pt"."""
    named = copy.deepcopy(ROWS)
    for row in named:
        if row["what"] == "saved":
            row["name"] = f"run-1795369716-{row['step']}.pt"
    assert compare(build(ROWS), build(named)).verdict == "same"
    at = find(named, "saved", step=1)
    flip(named[at])
    first = compare(build(ROWS), build(named)).difference
    assert first is not None
    assert (first.step, first.what, first.name) == (1, "saved", "model.pt")
    del named[at]
    assert compare(build(ROWS), build(named)).verdict == "differs"


def test_files_that_both_runs_save_are_held_against_each_other_in_any_order(build: Builder) -> None:
    """As threads save them that race."""
    parts = [record(0, "setup", "saved", f"part{n}.pt") for n in range(3)]
    one, other = build(parts + ROWS), build(parts[::-1] + ROWS)
    assert compare(one, other).verdict == "same"
    flip(parts[1])
    first = compare(one, build(parts[::-1] + ROWS)).difference
    assert first is not None and (first.what, first.name) == ("saved", "part1.pt")


@pytest.mark.parametrize(
    "at", [at for at, row in enumerate(ROWS) if at not in compared(ROWS) and row["digest"]]
)
def test_evidence_alone_makes_no_difference(build: Builder, at: int) -> None:
    changed = copy.deepcopy(ROWS)
    flip(changed[at])
    assert compare(build(ROWS), build(changed)).verdict == "same"


@pytest.mark.parametrize("at", [at for at in compared(ROWS) if ROWS[at]["what"] != "end"])
@pytest.mark.parametrize("lacking", ["a", "b"])
def test_a_record_that_one_run_lacks(build: Builder, at: int, lacking: str) -> None:
    fewer = training()
    row = fewer.pop(at)
    last = all(ROWS[later]["what"] == "end" for later in compared(ROWS) if later > at)
    runs = [build(fewer), build(ROWS)]
    result = compare(*(runs if lacking == "a" else reversed(runs)))
    assert result.verdict == "differs"
    assert result.difference is not None
    if last:
        assert (result.difference.kind, result.difference.what) == ("ended", "end")
    else:
        assert result.difference.kind == "flow"
        assert (result.difference.step, result.difference.what) == (row["step"], row["what"])
        has = "saves" if row["what"] == "saved" else f"has {row['what']}"
        assert f"only run {'B' if lacking == 'a' else 'A'} {has}" in " ".join(result.notes)


def test_the_first_of_several_differences_counts(build: Builder) -> None:
    changed = training(5)
    for at in (find(changed, "gradients", 3), find(changed, "loss", 3), find(changed, "batch", 4)):
        flip(changed[at])
    first = compare(build(training(5)), build(changed)).difference
    assert first is not None
    assert (first.step, first.what, first.call_site) == (3, "loss", "train.py:31")


def test_the_line_of_each_run_is_kept(build: Builder) -> None:
    changed = training(5)
    at = find(changed, "loss", 3)
    flip(changed[at])
    changed[at]["call_site"] = "train.py:35"
    first = compare(build(training(5)), build(changed)).difference
    assert first is not None
    assert (first.call_site, first.site_in, first.other_site) == ("train.py:31", "a", "train.py:35")
    more = training(5)
    more.insert(at, {**more[at], "name": "second"})
    for runs, site_in in (((training(5), more), "b"), ((more, training(5)), "a")):
        lone = compare(*map(build, runs)).difference
        assert lone is not None and lone.kind == "flow"
        assert (lone.call_site, lone.site_in, lone.other_site) == ("train.py:31", site_in, None)


def test_equal_records_in_another_order_are_the_same_with_a_note(build: Builder) -> None:
    moved = training()
    at = find(moved, "output", 1)
    moved[at], moved[at + 1] = moved[at + 1], moved[at]
    result = compare(build(training()), build(moved))
    assert result.verdict == "same"
    assert "another order" in result.notes[0]


KEYS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["forward", "backward"]),
    st.sampled_from(["batch", "loss"]),
    st.sampled_from("xy"),
)
SEQUENCE = st.lists(st.tuples(KEYS, st.integers(0, 1)), min_size=1, max_size=12)


def _records(sequence: list[tuple[tuple[int, str, str, str], int]]) -> list[Record]:
    return [*(record(*key, digest=d(str(value))) for key, value in sequence), end(1)]


def _by_key(sequence: list[tuple[tuple[int, str, str, str], int]]) -> dict[object, list[int]]:
    found: dict[object, list[int]] = {}
    for key, value in sequence:
        found.setdefault(key, []).append(value)
    return found


@settings(max_examples=150, deadline=None)
@given(SEQUENCE, SEQUENCE, st.booleans())
def test_same_exactly_when_each_record_has_an_equal_namesake(one: list, other: list, again: bool) -> None:
    if again:
        other = one
    with TemporaryDirectory() as folder:
        build = Builder(Path(folder))
        result = compare(build(_records(one)), build(_records(other)))
    same = _by_key(one) == _by_key(other)
    assert result.verdict == ("same" if same else "differs")
    assert (result.difference is None) == same


# --- ends -----------------------------------------------------------------------------------------------


def test_one_run_raised_and_the_other_finished(build: Builder) -> None:
    result = compare(
        build(training()), build(training(how="raised ValueError"), outcome="failed", exit_code=1)
    )
    assert result.verdict == "differs"
    assert result.difference is not None
    assert (result.difference.kind, result.difference.what) == ("ended", "end")
    assert "run A finished, run B raised ValueError" in result.notes


def test_one_run_ended_early(build: Builder) -> None:
    result = compare(build(training(4)), build(training(2)))
    assert result.difference is not None
    assert (result.difference.kind, result.difference.what, result.difference.step) == ("ended", "end", 1)


def test_a_difference_before_a_failure_is_one(build: Builder) -> None:
    changed = training(2, how="raised ValueError")
    flip(changed[find(changed, "loss", 1)])
    result = compare(build(training()), build(changed, outcome="failed", exit_code=1))
    assert result.difference is not None
    assert (result.verdict, result.difference.what, result.difference.kind) == ("differs", "loss", "value")


# --- unknown --------------------------------------------------------------------------------------------


def _killed(steps: int = 2) -> list[Record]:
    return training(steps)[:-1]


def test_nothing_recorded(build: Builder) -> None:
    result = compare(build([end(0)]), build([end(0)]))
    assert (result.verdict, result.reason) == (
        "unknown",
        "nothing that can be compared was recorded in both runs",
    )


def test_no_traces_at_all(build: Builder) -> None:
    assert compare(build(), build()).verdict == "unknown"


def test_records_without_digests_do_not_make_it_same(build: Builder) -> None:
    rows = [record(0, "forward", "loss", "backward", digest=None), end(1)]
    assert compare(build(rows), build(rows)).verdict == "unknown"


@pytest.mark.parametrize("closed", [True, False])
def test_killed_with_equal_records_so_far(build: Builder, closed: bool) -> None:
    result = compare(build(training()), build(_killed(), closed=closed))
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "run B" in result.reason


def test_killed_right_before_the_end(build: Builder) -> None:
    result = compare(build(_killed(3), closed=False), build(_killed(3), closed=False))
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "both runs" in result.reason


def test_killed_after_a_difference(build: Builder) -> None:
    changed = _killed()
    flip(changed[find(changed, "batch", 1)])
    assert compare(build(training()), build(changed, closed=False)).verdict == "differs"


def test_both_failed_alike(build: Builder) -> None:
    runs = [build(training(how="raised KeyError"), outcome="failed", exit_code=1) for _ in range(2)]
    result = compare(*runs)
    assert result.verdict == "unknown"
    assert result.reason == "the command failed in both runs (exit codes 1 and 1)"


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("failed", "run B failed (exit code 1)"),
        ("timeout", "run B ran out of time"),
        ("interrupted", "run B was interrupted"),
        ("running", "run B is still running"),
    ],
)
def test_one_run_did_not_do_what_was_asked(build: Builder, outcome: str, words: str) -> None:
    result = compare(build(training()), build(training(), outcome=outcome, exit_code=1))
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert words in result.reason
    assert "run A finished" in result.reason


def test_digested_by_different_algorithms(build: Builder) -> None:
    one, other = build(training()), build(training(), meta={"digests": {"cpu": "y"}})
    flipped = training()
    flip(flipped[find(flipped, "batch")])
    for pair in ((one, other), (build(flipped), other)):
        result = compare(*pair)
        assert result.verdict == "unknown"
        assert result.reason is not None
        assert "different algorithms" in result.reason


@pytest.mark.parametrize("content", [b"", b"\xff\xff\xff\xff", b"not arrow at all"])
def test_a_trace_that_cannot_be_read(build: Builder, content: bytes) -> None:
    one, other = build(training(), training()), build(training(), training())
    (other.path / "rank1.trace.arrow").write_bytes(content)
    result = compare(one, other)
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "rank1.trace.arrow" in result.reason


def test_a_manifest_that_is_missing_or_unknown_is_an_error(build: Builder) -> None:
    one, other = build(training()), build(training())
    (other.path / "manifest.json").write_text('{"schema": 99}')
    with pytest.raises(SchemaError, match="99"):
        compare(one, build(training()).__class__(other.path))
    (other.path / "manifest.json").unlink()
    with pytest.raises(RunError, match="cannot be read"):
        compare(one, other.__class__(other.path))


# --- stopped by the plan, and the first steps only ----------------------------------------------------------


def _stopped(steps: int) -> list[Record]:
    rows = training(steps + 1)
    cut = find(rows, "gradients", steps)
    return [*rows[:cut], record(steps, "optimizer", "stopped", digest=None)]


STOP = {"outcome": "stopped", "exit_code": None}


def test_runs_that_the_plan_stopped(build: Builder) -> None:
    plan = {"stop_after": 1}
    result = compare(build(_stopped(2), plan=plan, **STOP), build(_stopped(2), plan=plan, **STOP))
    assert (result.verdict, result.scope.steps) == ("same", 2)


@pytest.mark.parametrize("stopped_first", [True, False])
def test_a_stopped_run_against_a_whole_one(build: Builder, stopped_first: bool) -> None:
    runs = [build(_stopped(1), plan={"stop_after": 0}, **STOP), build(training())]
    result = compare(*(runs if stopped_first else reversed(runs)))
    assert (result.verdict, result.scope.steps) == ("same", 1)
    changed = training()
    flip(changed[find(changed, "buffers", 0)])
    assert compare(runs[0], build(changed)).verdict == "differs"


def test_stopped_at_the_same_step_with_a_record_more(build: Builder) -> None:
    more = _stopped(1)
    more.insert(-1, record(1, "forward", "input", "Other"))
    plan = {"stop_after": 0}
    result = compare(build(_stopped(1), plan=plan, **STOP), build(more, plan=plan, **STOP))
    assert result.difference is not None
    assert (result.difference.kind, result.difference.name) == ("flow", "Other")


def test_other_processes_of_a_stopped_run_were_ended_with_it(build: Builder) -> None:
    plan = {"stop_after": 1}
    one = build(_stopped(2), _killed(2), plan=plan, closed=False, **STOP)
    other = build(_stopped(2), _killed(1), plan=plan, closed=False, **STOP)
    assert compare(one, other).verdict == "same"
    assert compare(one, build(_stopped(2), _killed(1), closed=False)).verdict == "unknown"  # no plan to stop


def test_only_the_first_steps(build: Builder) -> None:
    changed = training()
    flip(changed[find(changed, "batch", 2)])
    one, other = build(training()), build(changed)
    assert compare(one, other).verdict == "differs"
    result = compare(one, other, steps=2)
    assert (result.verdict, result.scope.steps) == ("same", 2)
    assert compare(one, build(_killed(1), closed=False), steps=2).verdict == "unknown"


# --- processes ------------------------------------------------------------------------------------------


def test_a_trace_that_only_one_run_has(build: Builder) -> None:
    for runs in (
        (build(training(), training()), build(training())),
        (build(training()), build(training(), training())),
    ):
        result = compare(*runs)
        assert result.difference is not None
        assert (result.difference.kind, result.difference.rank) == ("flow", 1)
        assert "rank1" in result.notes[0]


def test_a_trace_that_a_failed_run_lacks(build: Builder) -> None:
    result = compare(build(training(), training()), build(training(), outcome="failed", exit_code=1))
    assert result.verdict == "unknown"


def test_the_rank_that_parts_first(build: Builder) -> None:
    late, early = training(), training()
    flip(late[find(late, "gradients", 1)])
    flip(early[find(early, "batch", 1)])
    first = compare(build(training(), training()), build(late, early)).difference
    assert first is not None
    assert (first.rank, first.process, first.what) == (1, "rank1", "batch")


def test_worker_traces_are_evidence_only(build: Builder) -> None:
    def worker(text: str) -> list[Record]:
        return [record(0, "data", "seed", "random.seed", digest=d(text), detail=text)]

    one = build(training(), traces={"rank0.worker0": worker("1"), "rank0.worker1": worker("x")})
    other = build(training(), traces={"rank0.worker0": worker("2")})
    assert compare(one, other).verdict == "same"
    changed = training()
    flip(changed[find(changed, "batch", 1)])
    differs = build(changed, traces={"rank0.worker0": worker("2")})
    first = compare(one, differs).difference
    assert first is not None
    assert [(row.process, row.detail) for row in first.a.rows("seed")] == [
        ("rank0.worker0", "1"),
        ("rank0.worker1", "x"),
    ]
    assert [row.detail for row in first.b.rows("seed", "random.seed")] == ["2"]


def test_processes_are_told_by_program_not_by_file(build: Builder) -> None:
    other_rows = [record(0, "forward", "loss", "backward", digest=d("other")), end(1)]
    one, other = build(), build()
    for run, stems in ((one, ("rank0", "rank0.bbbb.1")), (other, ("rank0.aaaa.1", "rank0"))):
        for stem, key, rows in zip(stems, ("aaaa", "bbbb"), (training(), other_rows), strict=True):
            ordinal = stem.rsplit(".", 1)[-1] if "." in stem else 0
            write(run.path, stem, rows, {"rank": 0, "pair": f"0||{key}|{ordinal}"}, True)
    assert compare(one, other).verdict == "same"


def test_runs_of_other_command_lines_are_compared_all_the_same(build: Builder) -> None:
    one = build(training(), meta={"pair": "0||aaaa|0"})
    changed = training()
    flip(changed[find(changed, "loss", 2)])
    assert compare(one, build(training(), meta={"pair": "0||bbbb|0"})).verdict == "same"
    assert compare(one, build(changed, meta={"pair": "0||bbbb|0"})).verdict == "differs"


@pytest.mark.parametrize(("flipped", "verdict"), [(False, "same"), (True, "differs")])
def test_programs_whose_command_lines_hold_a_port_are_known_by_their_places(
    build: Builder, flipped: bool, verdict: str
) -> None:
    """Which of them comes first, and so what their traces are called, is another in each run."""
    other_rows = [record(0, "forward", "loss", "backward", digest=d("other")), end(1)]
    changed = training()
    if flipped:
        flip(changed[find(changed, "loss", 2)])
    one, other = build(), build()
    for run, port, order in ((one, "aa", (0, 1)), (other, "bb", (1, 0))):
        rows = (changed if run is other else training(), other_rows)
        for ordinal, child in enumerate(order):
            meta = {"rank": 0, "pair": f"0||{port}{child}|{ordinal}", "place": ["program", "python", child]}
            write(run.path, f"rank0.{port}{child}.{ordinal}", rows[child], meta, True)
    assert compare(one, other).verdict == verdict


def test_each_run_against_the_first(build: Builder) -> None:
    late, early = training(), training()
    flip(late[find(late, "gradients", 1)])
    flip(early[find(early, "batch", 1)])
    found = compare_all([build(training()), build(training()), build(late), build(early)])
    assert [item.verdict for item in found] == ["same", "differs", "differs"]
    assert find_earliest(found) == 2
    assert find_earliest(found[:1]) is None
    assert compare_all([build(training())]) == []


def test_comparing_needs_no_torch(build: Builder) -> None:
    one, other = build(training()), build([*training()[:-1], operation(2, "aten::mm", "x"), end(3)])
    code = (
        "import sys; from pathlib import Path\n"
        "from samerun.comparing.compare_runs import compare; from samerun.runs.store import Run\n"
        "assert 'numpy' not in sys.modules and 'pyarrow' not in sys.modules\n"
        f"print(compare(Run(Path({str(one.path)!r})), Run(Path({str(other.path)!r}))).verdict)\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "same\n"  # neither run is at tier ops


def test_a_group_that_grew(build: Builder) -> None:
    more = training()
    at = find(more, "parameters", 1)
    more[at]["parts"] += d("new")
    more[at]["digest"] = d("grown")
    result = compare(build(training()), build(more))
    assert result.difference is not None
    assert result.difference.name == "SGD[3]"
    assert "3 tensors in run A and 4 in run B" in " ".join(result.notes)


def test_how_many_tensors_of_a_group_differ(build: Builder) -> None:
    changed = training()
    changed[find(changed, "gradients", 1)] = group(1, "optimizer", "gradients", seed="other")
    result = compare(build(training()), build(changed))
    assert result.difference is not None
    assert result.difference.name == "conv.weight"
    assert "3 of 3 tensors of gradients differ: conv.weight, conv.bias, fc.weight" in result.notes
