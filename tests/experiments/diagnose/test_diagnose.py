"""Covers `controlled_runs.py` and `search.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from samerun.experiments.check.first_runs import FIRST_WINDOW
from samerun.experiments.diagnose.diagnose import diagnose
from samerun.experiments.diagnose.result import Diagnosis
from samerun.experiments.request import Request
from samerun.experiments.runner import Runner
from samerun.runs.store import Store

from ..scripts import KERNEL, Script

TIMED = "import time\nstep = 0\nwhile time.time() < 9:\n    step += 1\n"

THREADED = """import threading
def work():
    print()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def diagnosed(
    script: Script, folder: Path, *, code: str = "import torch\n", rare: bool = False, **asked: Any
) -> Diagnosis:
    (folder / "train.py").write_text(code)
    request = Request(("python", "train.py"), folder, Store(folder / ".samerun"), **asked)
    return diagnose(request, Runner(record=script.record), rare=rare)


def sources(diagnosis: Diagnosis) -> list[list[str]]:
    return [[cause.source for cause in found.causes if cause.confirmed] for found in diagnosis.found]


def test_an_operation_of_the_setup_that_reaches_nothing_is_not_where_the_cause_shows(tmp_path: Path) -> None:
    diagnosis = diagnosed(Script(batches=("python-random",), stamps=True), tmp_path)
    assert sources(diagnosis) == [["python-random"]]
    assert (diagnosis.found[0].difference.phase, diagnosis.found[0].difference.what) == ("data", "batch")
    assert diagnosis.complete


def test_a_training_that_repeats_has_nothing_to_diagnose(tmp_path: Path) -> None:
    script = Script()
    diagnosis = diagnosed(script, tmp_path)
    assert diagnosis.check.verdict == "same"
    assert diagnosis.found == ()
    assert diagnosis.confidence is not None and "2 equal runs" in diagnosis.confidence
    assert len(script.calls) == diagnosis.recorded == 2


def test_runs_that_read_unwritten_memory_and_agree_are_tried_again(tmp_path: Path) -> None:
    script = Script(unwritten=True)
    diagnosis = diagnosed(script, tmp_path)
    assert diagnosis.check.verdict == "same"
    assert any("uninitialized-memory (numpy.empty at train.py:3)" in note for note in diagnosis.check.notes)
    assert len(script.calls) == 4
    script = Script(unwritten=True, flips=frozenset({(3, 0, "batch")}))
    assert diagnosed(script, tmp_path).check.verdict == "differs"


def test_one_cause_takes_four_runs_which_prove_its_patch_too(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",))
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["torch-cpu"]]
    assert diagnosis.complete
    assert [call["copy"] is None for call in script.calls] == [True, True, False, False]
    assert script.calls[0]["window"] == FIRST_WINDOW
    proof, patch = diagnosis.found[0].proof, diagnosis.patch
    assert proof is not None and patch is not None
    assert (proof.controlled, proof.agree_until, proof.steps) == (("torch-cpu",), None, 4)
    assert patch.verified and patch.runs == proof.runs
    assert proof.way == "patch"


def test_where_no_edit_reaches_it_the_control_proves_it(tmp_path: Path) -> None:
    script = Script(batches=("clock",))
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["clock"]]
    assert diagnosis.complete
    proof = diagnosis.found[0].proof
    assert proof is not None and proof.way == "control"


def test_a_reason_not_seen_directly_takes_one_run_more_when_all_of_them_part(tmp_path: Path) -> None:
    script = Script(batches=("python-random",))
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["python-random"]]
    assert [call["stop_after"] for call in script.calls] == [None, None, 0, None, None]


def test_a_reason_that_is_seen_is_not_followed_to_an_earlier_step(tmp_path: Path) -> None:
    script = Script(steps=6, from_step={"python-random": 4}, bystanders=("python-random",), sooner={3: 2})
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["python-random"]]
    assert diagnosis.found[0].difference.step == 2
    assert [call["stop_after"] for call in script.calls] == [None, None, 4, 4, None, None]
    assert any("recorded again they diverge at step 2 already" in note for note in diagnosis.check.notes)


BRANCHING = "import random\nimport torch\n\ntorch.manual_seed(0)\n\nif random.random() < 0.5:\n    print()\n"


def test_numbers_drawn_on_a_line_that_branches_need_no_closer_look(tmp_path: Path) -> None:
    """Runs part by chance there: a closer look at the step of two of them saw others agree."""
    script = Script(steps=6, from_step={"python-random": 4}, bystanders=("python-random",), sooner={99: 0})
    diagnosis = diagnosed(script, tmp_path, code=BRANCHING)
    assert sources(diagnosis) == [["python-random"]]
    assert diagnosis.complete
    assert [call["stop_after"] for call in script.calls] == [None] * (2 + 3)
    assert diagnosis.found[0].causes[0].call_site == "train.py:6"


def test_numbers_drawn_there_that_are_not_the_reason_get_the_closer_look(tmp_path: Path) -> None:
    script = Script(steps=6, from_step={"python-random": 9}, sooner={99: 0}, kernel=4)
    script.bystanders = ("python-random",)
    diagnosis = diagnosed(script, tmp_path, code=BRANCHING)
    assert sources(diagnosis) == [[KERNEL]]
    assert (3, 4) in [call["window"] for call in script.calls]


def test_what_steps_back_for_a_generator_is_asked_again_when_that_is_refuted(tmp_path: Path) -> None:
    """It was tried again and again, which luck can pass, and the reason found with everything controlled."""
    script = Script(steps=6, from_step={"python-random": 9, "hash-seed": 4}, sooner={99: 0})
    script.bystanders = ("python-random",)
    diagnosis = diagnosed(script, tmp_path, code=BRANCHING)
    assert sources(diagnosis) == [["hash-seed"]]
    assert diagnosis.complete
    assert [cause.source for cause in diagnosis.found[0].ruled_out] == ["python-random"]
    assert len(script.calls) <= 2 + 4 + 2 + 6


def test_a_closer_look_finds_the_operation_that_made_the_batch(tmp_path: Path) -> None:
    """It came "later" than the batch, so that the difference counted as one that did not come back."""
    script = Script(from_step={KERNEL: 2}, made=True)
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [[KERNEL]]
    difference = diagnosis.found[0].difference
    assert (difference.op, difference.phase, difference.shows) == ("aten.randn", "forward", (2, "data"))
    stops = [call["stop_after"] for call in script.calls if not call["probe"]]
    assert stops == [None, None, 2, 2, None, None]


def test_where_what_is_seen_does_not_explain_it_the_earlier_step_is_looked_at_too(tmp_path: Path) -> None:
    # what differs at step 2 is a kernel's doing, whose operation only a window there can show
    script = Script(steps=6, from_step={"python-random": 4}, bystanders=("python-random",), sooner={3: 0})
    script.flips = frozenset((run, 2, "gradients") for run in range(3, 99, 2))
    diagnosis = diagnosed(script, tmp_path)
    assert (1, 2) in [call["window"] for call in script.calls]
    assert not any(cause.confirmed for found in diagnosis.found for cause in found.causes)


def test_every_cause_is_found_in_the_order_of_time_and_none_invented(tmp_path: Path) -> None:
    script = Script(
        init=("torch-cpu",), from_step={"python-random": 2}, kernel=3, bystanders=("numpy-global",)
    )
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["torch-cpu"], ["python-random"], [KERNEL]]
    assert diagnosis.complete
    assert [found.difference.step for found in diagnosis.found] == [0, 2, 3]
    proofs = [found.proof for found in diagnosis.found]
    assert [proof.agree_until for proof in proofs if proof is not None] == [2, 3, None]
    assert [cause.source for cause in diagnosis.check.causes] == ["torch-cpu", "python-random", KERNEL]


def test_what_the_first_run_left_is_no_other_sources_doing(tmp_path: Path) -> None:
    """All further runs find it and agree, whatever is controlled in them."""
    diagnosis = diagnosed(Script(caches=True, bystanders=("numpy-global",)), tmp_path)
    assert sources(diagnosis) == [["resume-state"]]
    proof = diagnosis.found[0].proof
    assert proof is not None and proof.way == "fresh"
    assert diagnosis.patch is not None and not diagnosis.patch.diff


def test_the_operation_of_equal_inputs_and_other_outputs_is_run_again_alone(tmp_path: Path) -> None:
    script = Script(init=("torch-cpu",), kernel=3)
    diagnosed(script, tmp_path)
    (call,) = [call for call in script.calls if call["probe"] is not None]
    probe = call["probe"]
    assert (probe.step, probe.op, probe.nth) == (3, "aten.index_put_", 0)
    assert call["control"].only == ("torch-cpu",)
    assert call["tier"] == "ops" and call["window"] == (2, 3) and call["stop_after"] == 3


def test_two_sources_of_one_batch_are_needed_together(tmp_path: Path) -> None:
    diagnosis = diagnosed(Script(batches=("numpy-global", "python-random", "clock")), tmp_path)
    assert [sorted(found) for found in sources(diagnosis)] == [["clock", "numpy-global", "python-random"]]
    assert all(cause.together for cause in diagnosis.found[0].causes)
    assert diagnosis.complete


def test_a_source_that_nothing_points_to_is_found_by_controlling_everything(tmp_path: Path) -> None:
    diagnosis = diagnosed(Script(batches=("os-entropy",)), tmp_path)
    assert sources(diagnosis) == [["os-entropy"]]
    assert "nothing that was recorded points to it" in diagnosis.found[0].causes[0].evidence
    assert diagnosis.complete


@pytest.mark.parametrize("seconds", [1.0, 60.0], ids=["short", "long"])
def test_what_the_code_reads_is_tried_before_everything(seconds: float, tmp_path: Path) -> None:
    script = Script(batches=("clock",), reads=("process-id", "clock"), seconds=seconds)
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["clock"]]
    assert "clock() is read before the runs diverge" in diagnosis.found[0].causes[0].evidence
    assert diagnosis.found[0].causes[0].call_site == "train.py:3"
    controlled = [call["control"].only for call in script.calls if call["control"]]
    assert max(map(len, controlled)) == 1
    # That few runs agree may be luck: most scripts read a clock. What stopped proves nothing of the end.
    clock = [call for call in script.calls if call["control"] and call["control"].only == ("clock",)]
    stops = [call["stop_after"] for call in clock]
    assert stops == ([None] * 6 if seconds == 1.0 else [0] * 6 + [None] * 2)


def test_what_the_code_reads_and_does_not_use_is_not_a_cause(tmp_path: Path) -> None:
    diagnosis = diagnosed(Script(batches=("os-entropy",), reads=("process-id", "clock")), tmp_path)
    assert sources(diagnosis) == [["os-entropy"]]


def test_what_no_control_mends_is_left_open(tmp_path: Path) -> None:
    diagnosis = diagnosed(Script(batches=("memory-address",)), tmp_path)
    assert diagnosis.check.verdict == "differs"
    assert sources(diagnosis) == [[]]
    assert not diagnosis.complete
    assert any("with every controllable source controlled" in note for note in diagnosis.check.notes)


def test_a_loop_that_ends_by_the_clock_needs_no_closer_look(tmp_path: Path) -> None:
    """Runs part at another step each time: four runs looked for a difference at the step of the first."""
    script = Script(steps=9, limit=dict(enumerate([6, 4, 8, 5, 7, 9, 3, 6, 8] * 3, 1)), evaluates=False)
    diagnosis = diagnosed(script, tmp_path, code=TIMED)
    assert sources(diagnosis) == [["clock"]]
    assert diagnosis.complete
    assert len(script.calls) == 2 + 3
    assert diagnosis.patch is not None and diagnosis.patch.verified
    assert "+while step < " in diagnosis.patch.diff


def test_a_timer_is_named_and_no_run_spent_on_what_nothing_controls(tmp_path: Path) -> None:
    """It took seventeen runs, and named nothing."""
    script = Script(steps=9, limit={1: 6, 2: 4}, limited_with="signal.alarm", evaluates=False)
    diagnosis = diagnosed(script, tmp_path, code="import signal\n\nsignal.alarm(9)\n")
    assert len(script.calls) == 2
    assert sources(diagnosis) == [[]]
    assert [cause.source for cause in diagnosis.found[0].causes] == ["clock"]
    assert not diagnosis.complete


def test_a_clock_that_only_looks_like_the_reason_gets_the_closer_look(tmp_path: Path) -> None:
    """A difference that does not go when it is controlled."""
    never = dict(enumerate([6, 4, 8, 5, 7, 9, 3, 6, 8] * 9, 1))
    script = Script(steps=9, limit=never, limited_by="memory-address", evaluates=False)
    diagnosis = diagnosed(script, tmp_path, code=TIMED)
    assert sources(diagnosis) == [[]]
    assert any(call["window"] == (3, 4) for call in script.calls)
    assert "clock" in [cause.source for cause in diagnosis.found[0].ruled_out]


def test_a_race_is_tried_with_a_patch_at_once(tmp_path: Path) -> None:
    """It parts the runs at another step each time, which made for four runs in search of one of them."""
    script = Script(arrivals="ab" + "?" * 20, tells_its_code=True)
    diagnosis = diagnosed(script, tmp_path, code=THREADED)
    assert sources(diagnosis) == [["thread-scheduling"]]
    assert diagnosis.patch is not None and diagnosis.patch.verified
    assert "+    thread.join()" in diagnosis.patch.diff
    assert [call["stop_after"] for call in script.calls] == [None] * 5


def test_a_race_that_no_edit_ends_is_what_all_controls_together_leave(tmp_path: Path) -> None:
    script = Script(arrivals="abcdefgh", tells_its_code=True)
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [[]]
    assert [cause.source for cause in diagnosis.found[0].causes] == ["thread-scheduling"]
    assert any("with every controllable source controlled" in note for note in diagnosis.check.notes)
    controlled = [call["control"] is not None and len(call["control"].only) > 10 for call in script.calls]
    assert controlled == [False, False, True, True, False, False]  # the last two follow the values


def test_what_looks_like_a_race_and_ends_when_all_is_controlled_is_none(tmp_path: Path) -> None:
    """Threads were alive, and nothing else was seen: that alone blames them for nothing."""
    script = Script(arrivals="?" * 99, batches=("clock",), tells_its_code=True)
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [["clock"]]


def test_an_edited_code_that_waits_for_ever_is_ended(tmp_path: Path) -> None:
    """Threads that one does not see wait for each other do, once they run one after the other."""
    script = Script(arrivals="abcdefgh" * 3, tells_its_code=True, timeouts=frozenset({3, 4}), seconds=7.0)
    diagnosis = diagnosed(script, tmp_path, code=THREADED)
    assert [call["timeout"] for call in script.calls[:4]] == [None, None, 70.0, 70.0]
    assert {call["timeout"] for call in script.calls if call["copy"] is None} == {None}
    assert diagnosis.check.verdict == "differs"
    own = Script(arrivals="ab" + "?" * 20, tells_its_code=True)
    diagnosed(own, tmp_path, code=THREADED, timeout=9.0)
    assert {call["timeout"] for call in own.calls} == {9.0}


def test_a_race_that_the_patch_does_not_end_is_looked_at_closer(tmp_path: Path) -> None:
    script = Script(arrivals="abcd", batches=("memory-address",), tells_its_code=True)
    diagnosis = diagnosed(script, tmp_path, code=THREADED)
    assert sources(diagnosis) == [[]]
    assert any(call["stop_after"] == 0 for call in script.calls)


def test_batches_that_came_in_another_order_need_no_closer_look(tmp_path: Path) -> None:
    """No operation of the process that trains made them."""
    script = Script(unordered=2)
    diagnosis = diagnosed(script, tmp_path, code="import torch\nloader = DataLoader(data, in_order=False)\n")
    assert sources(diagnosis) == [["worker-arrival"]]
    assert diagnosis.found[0].difference.step == 2
    assert [call["stop_after"] for call in script.calls] == [None] * 4
    assert diagnosis.patch is not None and diagnosis.patch.verified


def test_threads_that_race_alike_a_few_times_confirm_nothing(tmp_path: Path) -> None:
    """Two runs that agreed were enough: for hash-seed, and then for sixty runs in search of the least."""
    script = Script(arrivals="abcddeffg")
    diagnosis = diagnosed(script, tmp_path)
    assert sources(diagnosis) == [[]]
    assert diagnosis.found[0].causes[0].source == "thread-scheduling"
    assert any("with every controllable source controlled" in note for note in diagnosis.check.notes)
    controlled = [call["control"].only for call in script.calls if call["control"]]
    assert controlled[:3] == [("hash-seed",)] * 3
    assert len(controlled) == 6 and min(map(len, controlled[3:])) > 10


@pytest.mark.parametrize("step", [0, 1])
def test_what_does_not_come_back_is_not_confirmed_by_luck(step: int, tmp_path: Path) -> None:
    script = Script(flips=frozenset({(2, step, "gradients")}), bystanders=("python-random",))
    diagnosis = diagnosed(script, tmp_path)
    assert diagnosis.check.verdict == "differs"
    assert sources(diagnosis) == [[]]
    assert not diagnosis.complete


def test_a_rare_difference_is_waited_for(tmp_path: Path) -> None:
    script = Script(flips=frozenset({(5, 2, "gradients")}))
    diagnosis = diagnosed(script, tmp_path, rare=True, runs=30)
    assert diagnosis.check.verdict == "differs"
    assert len(diagnosis.check.runs) == 5
    same = diagnosed(Script(), tmp_path, rare=True, runs=6)
    assert same.check.verdict == "same"
    assert same.confidence is not None and same.confidence.startswith("6 equal runs")


def test_crashes_and_nothing_recorded_are_unknown(tmp_path: Path) -> None:
    assert diagnosed(Script(crashes={2: 1}), tmp_path).check.verdict == "unknown"
    always = Script(crashes=dict.fromkeys(range(1, 9), 3), batches=("python-random",))
    assert diagnosed(always, tmp_path).check.verdict == "unknown"
    assert diagnosed(Script(imports_torch=False, steps=0), tmp_path).check.verdict == "unknown"


def test_under_control_only_what_is_left_is_diagnosed(tmp_path: Path) -> None:
    from samerun.runs.plan import Control

    script = Script(init=("torch-cpu",), kernel=1)
    assert diagnosed(script, tmp_path, control=Control()).check.verdict == "same"


def test_the_result_is_plain_json_with_the_keys_of_check(tmp_path: Path) -> None:
    diagnosis = diagnosed(Script(init=("torch-cpu",)), tmp_path)
    value = json.loads(json.dumps(diagnosis.to_json(), allow_nan=False))
    assert value["verdict"] == "differs"
    assert value["causes"][0]["source"] == "torch-cpu"
    assert value["found"][0]["difference"]["phase"] == "setup"
    assert value["found"][0]["proof"]["agree_until"] is None
    assert value["complete"] is True


def test_it_is_kept_beside_its_runs_for_the_report(tmp_path: Path) -> None:
    from samerun.experiments.diagnose.storage import load

    diagnosis = diagnosed(Script(init=("torch-cpu",)), tmp_path)
    kept = load(Store(tmp_path / ".samerun").find(diagnosis.check.runs[0]))
    assert kept is not None
    assert json.dumps(kept.to_json()) == json.dumps(diagnosis.to_json())
