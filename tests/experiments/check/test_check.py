"""Covers `confirm.py`, `first_runs.py`, `judge.py`, `result.py`, `without_steps.py` and `zoom.py`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from samerun.experiments.check import zoom
from samerun.experiments.check.check import check
from samerun.experiments.check.result import CheckResult
from samerun.experiments.progress import Listener
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.runs.difference import Difference
from samerun.runs.plan import Control
from samerun.runs.store import Store

from ..scripts import KERNEL, Script


def checked(script: Script, folder: Path, listener: Listener | None = None, **asked: Any) -> CheckResult:
    request = Request(("python", "train.py"), folder, Store(folder / ".samerun"), **asked)
    return check(request, Runner(listener, script.record))


def where(result: CheckResult) -> tuple[int, str, str]:
    assert result.difference is not None
    return result.difference.step, result.difference.phase, result.difference.what


def confirmed(result: CheckResult) -> list[str]:
    return [cause.source for cause in result.causes if cause.confirmed]


def test_runs_that_agree_are_the_same_with_their_scope(tmp_path: Path) -> None:
    script = Script(steps=90)
    result = checked(script, tmp_path, runs=3)
    assert result.verdict == "same"
    assert (len(result.runs), result.steps) == (3, 90)
    assert result.scope.startswith("3 runs, 90 steps, 1 rank: every batch")
    assert result.difference is None
    assert result.causes == ()
    assert [len(losses) for losses in result.losses] == [90, 90, 90]
    assert len(script.calls) == 3


@pytest.mark.parametrize("what", ["batch", "gradients", "parameters"])
def test_one_differing_record_is_never_the_same(what: str, tmp_path: Path) -> None:
    result = checked(Script(flips=frozenset({(3, 2, what)})), tmp_path, runs=3)
    assert result.verdict == "differs"
    assert where(result)[::2] == (2, what)


def test_an_unseeded_start_parts_in_setup_and_is_confirmed(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",))
    result = checked(script, tmp_path)
    assert where(result) == (0, "setup", "operation")
    assert confirmed(result) == ["torch-cpu"]
    assert result.difference is not None
    assert result.difference.op == "aten.normal_"
    assert script.calls[2]["window"] == (-1, 0)
    assert all(call["control"].only == ("torch-cpu",) for call in script.calls[4:])


def test_an_unseeded_augmentation_parts_in_the_data_and_is_confirmed(tmp_path: Path) -> None:
    result = checked(Script(batches=("python-random",)), tmp_path)
    assert where(result) == (0, "data", "batch")
    assert confirmed(result) == ["python-random"]
    assert result.causes[0].advice


def test_what_differs_in_the_setup_and_reaches_nothing_does_not_hide_the_cause(tmp_path: Path) -> None:
    """A time or an id of the run, made a tensor: every run differs there, whatever is held."""
    (tmp_path / "train.py").write_text("import torch\n")
    result = checked(Script(batches=("python-random",), stamps=True), tmp_path)
    assert where(result) == (0, "data", "batch")
    assert confirmed(result) == ["python-random"]
    assert any(note.startswith("aten.lift_fresh at train.py:7") for note in result.notes)


def test_what_differs_in_the_setup_stays_the_cause_of_what_it_reaches(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",), batches=("torch-cpu",), stamps=True)
    result = checked(script, tmp_path)
    assert where(result) == (0, "setup", "operation")
    assert result.difference is not None and result.difference.op == "aten.normal_"
    assert confirmed(result) == ["torch-cpu"]
    assert len(script.calls) == 6  # no more than where nothing else differs


def test_a_kernel_is_found_by_its_operation_at_the_step_where_it_first_differs(tmp_path: Path) -> None:
    script = Script(kernel=2)
    result = checked(script, tmp_path)
    assert where(result) == (2, "backward", "operation")
    assert result.difference is not None
    assert result.difference.op == "aten.index_put_"
    assert result.difference.call_site == "train.py:7"
    assert confirmed(result) == [KERNEL]
    further = script.calls[2:]
    assert len(further) == 4
    assert {(call["tier"], call["window"], call["stop_after"]) for call in further} == {("ops", (1, 2), 2)}


def test_a_difference_in_the_evaluation_alone_is_found(tmp_path: Path) -> None:
    result = checked(Script(flips=frozenset({(2, 3, "output")})), tmp_path)
    assert where(result) == (3, "evaluation", "output")


def test_two_sources_that_feed_the_same_batch_are_confirmed_together(tmp_path: Path) -> None:
    result = checked(Script(batches=("numpy-global", "python-random")), tmp_path)
    assert sorted(confirmed(result)) == ["numpy-global", "python-random"]
    assert all(cause.together for cause in result.causes)
    assert result.ruled_out == ()


def test_a_source_that_does_not_mend_it_is_ruled_out(tmp_path: Path) -> None:
    """An RNG that differs and is drawn from, but feeds nothing: the clock feeds the batch."""
    result = checked(Script(batches=("clock",), bystanders=("python-random",)), tmp_path)
    # Hashes may differ in every script: they are tried once nothing else is left.
    assert [cause.source for cause in result.ruled_out] == ["python-random", "hash-seed"]
    assert not result.causes
    assert [cause.source for cause in result.suspects] == ["python-random"]


def test_what_came_earlier_once_is_proved_by_runs_that_agree_to_the_end(tmp_path: Path) -> None:
    """How long a step took chose the batches, say: the closer look at the earlier step saw nothing."""
    script = Script(steps=8, from_step={"python-random": 5}, sooner={4: 3})
    script.bystanders = ("python-random",)
    result = checked(script, tmp_path)
    assert where(result)[0] == 2
    assert confirmed(result) == ["python-random"]
    assert any("and not so in further runs" in note for note in result.notes)
    trials = [call for call in script.calls if call["control"] is not None]
    assert trials and all(call["stop_after"] is None for call in trials)


def test_a_rare_difference_is_still_a_difference_and_nothing_is_confirmed_by_luck(tmp_path: Path) -> None:
    script = Script(flips=frozenset({(2, 1, "gradients")}))
    result = checked(script, tmp_path)
    assert result.verdict == "differs"
    assert where(result) == (1, "optimizer", "gradients")
    gone = next(note for note in result.notes if "did not come back" in note)
    assert gone.endswith("in 3 further runs, which were recorded more closely")  # all that is known of it
    assert not confirmed(result)
    assert all(call["control"] is None for call in script.calls)


def test_a_difference_is_rare_where_some_of_the_first_runs_agree(tmp_path: Path) -> None:
    result = checked(Script(flips=frozenset({(2, 1, "gradients")})), tmp_path, runs=3)
    assert any("did not come back" in note and "it is rare" in note for note in result.notes)


def test_a_race_that_a_closer_look_hides_is_proved_by_whole_runs_at_tier_steps(tmp_path: Path) -> None:
    script = Script(streams=2)
    result = checked(script, tmp_path)
    assert where(result) == (2, "optimizer", "gradients")
    assert confirmed(result) == ["stream-race"]
    trials = [call for call in script.calls if call["control"] is not None]
    assert {(call["tier"], call["stop_after"]) for call in trials} == {("steps", None)}
    # one that came once, and never again, is not confirmed by controlled runs that agree
    once = Script(streams=9, flips=frozenset({(2, 2, "gradients")}))
    assert confirmed(checked(once, tmp_path / "once")) == []
    # what a control does not fix is not confirmed
    script = Script(streams=2, from_step={"clock": 2})
    assert confirmed(checked(script, tmp_path / "other")) == []


def test_without_confirmation_no_controlled_run_is_made(tmp_path: Path) -> None:
    script = Script(batches=("python-random",))
    result = checked(script, tmp_path, confirm=False)
    assert [cause.source for cause in result.causes] == ["python-random"]
    assert not confirmed(result)
    assert all(call["control"] is None for call in script.calls)


def test_what_the_first_run_left_is_proved_by_runs_without_it(tmp_path: Path) -> None:
    """All further runs in the folder would find it and agree, whatever is controlled in them."""
    script = Script(caches=True, bystanders=("numpy-global",))
    result = checked(script, tmp_path)
    assert confirmed(result) == ["resume-state"]
    assert len(script.calls) == 4
    assert [call["copy"] is None for call in script.calls] == [True, True, False, False]
    assert (tmp_path / "cache.npy").exists()


def test_runs_that_race_and_agree_by_luck_do_not_prove_that_it_was_a_file(tmp_path: Path) -> None:
    result = checked(Script(caches=True, arrivals="abaaaaaaaa"), tmp_path)
    assert (result.verdict, confirmed(result)) == ("differs", [])
    assert "thread-scheduling" in [cause.source for cause in result.causes]


def test_what_fails_outside_its_folder_proves_nothing(tmp_path: Path) -> None:
    result = checked(Script(caches=True, crashes={3: 0, 4: 0}), tmp_path)
    assert (result.verdict, confirmed(result)) == ("differs", [])


def test_without_confirmation_nothing_is_copied(tmp_path: Path) -> None:
    script = Script(caches=True)
    checked(script, tmp_path, confirm=False)
    assert all(call["copy"] is None for call in script.calls), "asked for no proof"


def test_further_rngs_are_suspects_and_not_causes(tmp_path: Path) -> None:
    result = checked(Script(init=("torch-cpu",), batches=("numpy-global",)), tmp_path)
    assert [cause.source for cause in result.causes] == ["torch-cpu"]
    assert "numpy-global" in [cause.source for cause in result.suspects]


def test_under_control_the_runs_are_the_same(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",), batches=("numpy-global",), kernel=0)
    control = Control("strict", 7)
    result = checked(script, tmp_path, control=control)
    assert result.verdict == "same"
    assert result.controlled
    assert all(call["control"] == control for call in script.calls)


def test_steps_stops_each_run(tmp_path: Path) -> None:
    script = Script(steps=10)
    result = checked(script, tmp_path, steps=3)
    assert (result.verdict, result.steps) == ("same", 3)
    assert [call["stop_after"] for call in script.calls] == [2, 2]


def test_a_difference_beyond_the_steps_is_not_looked_at(tmp_path: Path) -> None:
    assert checked(Script(steps=10, kernel=5), tmp_path, steps=3).verdict == "same"
    assert checked(Script(steps=10, kernel=2), tmp_path, steps=3).verdict == "differs"


def test_a_crash_in_one_run_of_two_is_unknown_and_says_which(tmp_path: Path) -> None:
    result = checked(Script(crashes={2: 1}), tmp_path)
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "run 2 of 2" in result.reason
    assert "exit code 1 after 1 step; up to there the runs agree" in result.reason
    assert result.output == ("starting", "Traceback", "ValueError: no data")


def test_runs_that_part_before_the_crash_differ(tmp_path: Path) -> None:
    result = checked(Script(crashes={2: 3}, batches=("python-random",)), tmp_path)
    assert result.verdict == "differs"
    assert where(result)[0] == 0
    assert any("run 2 of 2" in note for note in result.notes)


def test_a_crash_in_one_run_does_not_hide_a_difference_in_another(tmp_path: Path) -> None:
    result = checked(Script(crashes={2: 1}, flips=frozenset({(3, 2, "gradients")})), tmp_path, runs=3)
    assert result.verdict == "differs"
    assert where(result) == (2, "optimizer", "gradients")


def test_a_command_that_always_fails_is_unknown(tmp_path: Path) -> None:
    result = checked(Script(crashes=dict.fromkeys(range(1, 9), 0)), tmp_path)
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "failed in every run" in result.reason
    assert result.output


def test_what_a_command_that_always_fails_computed_is_no_result(tmp_path: Path) -> None:
    """Its batches differ before it fails: that is not what is wrong with it."""
    result = checked(Script(crashes=dict.fromkeys(range(1, 9), 3), batches=("python-random",)), tmp_path)
    assert (result.verdict, result.difference, result.causes) == ("unknown", None, ())
    assert result.reason == "the command failed in every run: exit code 1 after 3 steps"
    assert result.output == ("starting", "Traceback", "ValueError: no data")
    assert not any("first visible" in note for note in result.notes)


def test_a_timeout_is_unknown_and_says_what_to_do(tmp_path: Path) -> None:
    result = checked(Script(timeouts=frozenset({1, 2})), tmp_path, timeout=5.0)
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "--timeout" in result.reason


def test_a_command_that_fails_where_operations_are_recorded_is_recorded_step_by_step(
    tmp_path: Path,
) -> None:
    script = Script(crashes={1: 0, 2: 0})
    result = checked(script, tmp_path)
    assert (result.verdict, len(result.runs)) == ("same", 2)
    assert [call["tier"] for call in script.calls] == ["ops", "ops", "steps", "steps"]
    assert any("failed while every operation" in note for note in result.notes)


def test_its_cause_is_found_as_without_that(tmp_path: Path) -> None:
    result = checked(Script(init=("torch-cpu",), crashes={1: 0, 2: 0}), tmp_path)
    assert (result.verdict, confirmed(result)) == ("differs", ["torch-cpu"])


def test_a_command_that_fails_always_is_tried_once_more_where_it_failed_at_once(tmp_path: Path) -> None:
    always = {number: 0 for number in range(1, 9)}
    script = Script(crashes=always)
    result = checked(script, tmp_path)
    assert (result.verdict, len(result.runs), len(script.calls)) == ("unknown", 2, 3)
    assert not any("every operation" in note for note in result.notes)
    later = Script(crashes=dict.fromkeys(always, 2))
    assert (checked(later, tmp_path).verdict, len(later.calls)) == ("unknown", 2)


def test_no_step_is_checked_by_its_operations(tmp_path: Path) -> None:
    script = Script(steps=0, operations=1234)
    result = checked(script, tmp_path)
    assert result.verdict == "same"
    assert result.scope == "2 runs, 0 steps, 1 rank; 1234 operations compared"
    assert [call["tier"] for call in script.calls] == ["ops", "ops"]


def test_no_step_and_one_differing_operation_differs(tmp_path: Path) -> None:
    result = checked(Script(steps=0, operations=5, batches=("torch-cpu",)), tmp_path)
    assert result.verdict == "differs"
    assert where(result)[2] == "operation"


def test_no_step_and_equal_operations_are_not_the_same_when_what_was_printed_differs(tmp_path: Path) -> None:
    result = checked(Script(steps=0, operations=5, prints={1: "0.5"}), tmp_path)
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "5 operations compared" in result.reason
    assert "what the runs printed differs" in result.reason


def test_nothing_to_compare_is_unknown_and_says_what_was_printed(tmp_path: Path) -> None:
    same = checked(Script(steps=0), tmp_path)
    assert same.verdict == "unknown"
    assert same.reason is not None
    assert "what the runs printed is the same" in same.notes
    other = checked(Script(steps=0, prints={1: "0.5"}), tmp_path)
    assert other.verdict == "unknown"
    assert "what the runs printed differs" in other.notes


def test_without_torch_there_is_no_second_look(tmp_path: Path) -> None:
    script = Script(steps=0, imports_torch=False)
    result = checked(script, tmp_path)
    assert result.verdict == "unknown"
    assert result.reason is not None
    assert "torch was never imported" in result.reason
    assert len(script.calls) == 2


class Heard(Listener):
    def __init__(self) -> None:
        self.events: list[Any] = []

    def stage(self, text: str) -> None:
        self.events.append(text)

    def run_started(self, number: int, of: int, steps: int | None) -> None:
        self.events.append((number, of, steps))

    def run_ended(self, run: str, steps: int, outcome: str, elapsed: float) -> None:
        self.events.append((steps, outcome))


def test_the_listener_hears_of_each_run_and_of_how_many_steps_once_known(tmp_path: Path) -> None:
    heard = Heard()
    checked(Script(steps=4), tmp_path, heard)
    assert heard.events == ["recording", (1, 2, None), (4, "finished"), (2, 2, 4), (4, "finished")]


def test_an_interrupt_ends_the_check_after_the_run_is_told(tmp_path: Path) -> None:
    heard = Heard()
    with pytest.raises(KeyboardInterrupt):
        checked(Script(interrupted=2), tmp_path, heard)
    assert heard.events[-1] == (2, "interrupted")


def test_one_of_two_sources_is_the_cause_when_the_other_comes_later_in_the_step(tmp_path: Path) -> None:
    result = checked(Script(init=("torch-cpu",), batches=("numpy-global",), kernel=0), tmp_path)
    assert where(result)[:2] == (0, "setup")
    assert confirmed(result) == ["torch-cpu"]
    assert not result.causes[0].together


def test_runs_that_part_elsewhere_the_next_time_are_followed(tmp_path: Path) -> None:
    """The first two runs part at step 6, the next two at step 1: the window moves there."""
    flips = {(2, 6, "gradients"), (4, 1, "gradients"), (6, 1, "gradients")}
    script = Script(steps=8, flips=frozenset(flips))
    result = checked(script, tmp_path, confirm=False)
    assert where(result)[0] == 1
    assert [call["window"] for call in script.calls[2:]] == [(5, 6)] * 2 + [(0, 1)] * 2
    assert any("they diverge at step 1 already" in note for note in result.notes)


RESULTS = {1: "accuracy 0.5\n", 2: "accuracy 0.75\n"}


def test_runs_that_differ_only_in_a_printed_result_differ_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text('print("starting")\nprint("accuracy", accuracy)\n')
    result = checked(Script(prints=RESULTS, tells_its_code=True), tmp_path, confirm=False)
    assert result.verdict == "differs"
    assert where(result) == (3, "end", "printed")
    assert result.difference is not None
    assert (result.difference.name, result.difference.call_site) == ("accuracy 0.5", "train.py:2")
    assert "run A prints 'accuracy 0.5', run B 'accuracy 0.75'" in result.notes


def test_a_printed_result_whose_line_is_not_known_has_none(tmp_path: Path) -> None:
    result = checked(Script(prints=RESULTS), tmp_path, confirm=False)
    assert result.verdict == "differs" and result.difference is not None
    assert result.difference.call_site is None


def test_the_same_result_is_the_same_and_what_else_differs_is_said(tmp_path: Path) -> None:
    result = checked(Script(prints={1: "accuracy 0.5\ntook 1 s\n", 2: "accuracy 0.5\ntook 2 s\n"}), tmp_path)
    assert result.verdict == "same"
    assert any("1 line differs in what is not taken for a result" in note for note in result.notes)


def test_a_record_that_differs_comes_before_a_printed_result(tmp_path: Path) -> None:
    result = checked(Script(prints=RESULTS, flips=frozenset({(2, 2, "batch")})), tmp_path, confirm=False)
    assert where(result)[::2] == (2, "batch")


@pytest.mark.parametrize("asked", [{"steps": 2}])
def test_what_stopped_runs_print_is_not_judged(tmp_path: Path, asked: dict[str, Any]) -> None:
    assert checked(Script(prints=RESULTS), tmp_path, **asked).verdict == "same"


def test_runs_that_race_and_agree_are_recorded_up_to_five_times(tmp_path: Path) -> None:
    script = Script(arrivals="aaaaa")
    result = checked(script, tmp_path, up_to=5)
    assert (result.verdict, len(result.runs), len(script.calls)) == ("same", 5, 5)
    assert result.scope.startswith("5 runs, ")
    assert result.to_json()["in_play"] == ["thread-scheduling"]
    assert any(note.startswith("5 equal runs: a difference that shows in half") for note in result.notes)


def test_no_run_is_added_after_one_that_differs(tmp_path: Path) -> None:
    result = checked(Script(arrivals="aaba"), tmp_path, up_to=5, confirm=False)
    assert result.verdict == "differs"
    assert result.verdicts == ("same", "differs")
    assert "thread-scheduling" not in result.to_json()["in_play"]


@pytest.mark.parametrize("asked", [{}, {"runs": 3}])
def test_as_many_runs_as_were_asked_for_are_no_more(tmp_path: Path, asked: dict[str, Any]) -> None:
    result = checked(Script(arrivals="aaaaa"), tmp_path, **asked)
    assert len(result.runs) == asked.get("runs", 2)
    assert any("equal runs: a difference" in note for note in result.notes)


def test_a_clock_that_is_only_read_costs_no_further_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\n\nprint(time.time())\n")
    result = checked(Script(reads=("clock", "os-entropy")), tmp_path, up_to=5)
    assert (result.verdict, len(result.runs)) == ("same", 2)
    assert result.to_json()["in_play"] == ["clock", "os-entropy"]
    assert not any("equal runs: a difference" in note for note in result.notes)


def test_a_printed_result_that_differs_counts_without_any_step(tmp_path: Path) -> None:
    prints = {1: "accuracy 0.5\n", 2: "accuracy 0.75\n"}
    result = checked(Script(steps=0, operations=5, prints=prints), tmp_path, confirm=False)
    assert result.verdict == "differs"
    assert where(result)[1:] == ("end", "printed")


def test_a_program_that_trains_after_another_one_is_not_stopped_before_it_begins() -> None:
    first = Difference(step=3, phase="data", what="input")
    assert zoom.stop_after(first) == 3
    assert zoom.stop_after(replace(first, process="rank0.8e0570bd.1")) is None
