"""The experiment as a whole, with a training that takes no time; real ones are in test_resume_lacks.py.

Covers `attempts.py`, `evidence.py`, `preconditions.py`, `result.py` and `second_kill.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from comparing.build import Builder, find, flip
from comparing.test_whole import previewed

from samerun.experiments.resume.attempts import ResumeRequest
from samerun.experiments.resume.compare_resumed import compare_repeated
from samerun.experiments.resume.result import ResumeResult
from samerun.experiments.resume.resume import resume
from samerun.experiments.runner import Runner
from samerun.launching.launch import LaunchRequest
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Control, Plan
from samerun.runs.store import Run, Store

from ..resuming import Training


def resumed(
    training: Training, folder: Path, with_: str = "resume", at: int = 7, **asked: Any
) -> ResumeResult:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    command = ("python", "train.py")
    request = ResumeRequest(
        command, (*command, *with_.split()), at, work, Store(folder / ".samerun"), **asked
    )
    return resume(request, Runner(record=training.record))


@pytest.fixture(autouse=True)
def _no_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit starts a process that imports torch."""
    monkeypatch.setattr(
        "samerun.experiments.resume.resume.audit_files", lambda folder, files: list(map(str, files))
    )


def stops(training: Training) -> list[int | None]:
    return [call["stop_after"] for call in training.calls]


def named(result: ResumeResult) -> list[str]:
    return [lack.what for lack in result.lacked]


def test_killed_twice_and_resumed_it_gives_the_same(tmp_path: Path) -> None:
    training = Training()
    result = resumed(training, tmp_path, at=3)
    assert (result.verdict, result.reason, result.difference) == ("same", None, None)
    assert (result.kill_at, result.resumed_at) == ((3, 6), (3, 6))
    assert stops(training) == [None, 2, None, 2, None]
    assert result.steps == 14
    assert result.scope.startswith("3 runs, 14 steps, 1 rank: every batch, model input, loss")
    assert len(result.runs) == len(result.roles) == len(result.losses) == 5
    assert result.roles[2] == "resumed, from step 3"
    assert [min(losses) for losses in result.losses] == [0, 0, 3, 3, 6]
    assert not (tmp_path / "work" / "last.json").exists()


def test_a_resume_from_an_older_checkpoint_gives_the_same(tmp_path: Path) -> None:
    training = Training(every=4)
    result = resumed(training, tmp_path, at=6)
    assert (result.verdict, result.resumed_at) == ("same", (4, 8))
    assert result.kill_at == (6, 9)


def test_the_second_kill_waits_for_a_checkpoint_of_the_resumed_process(tmp_path: Path) -> None:
    result = resumed(Training(every=7, steps=30), tmp_path, at=10)
    assert (result.kill_at, result.resumed_at) == ((10, 14), (7, 14))


def test_the_second_kill_stays_in_the_epoch(tmp_path: Path) -> None:
    result = resumed(Training(every=7, steps=30), tmp_path, at=8)
    assert (result.kill_at, result.resumed_at) == ((8, 9), (7, 7))
    assert result.verdict == "same"
    (note,) = result.notes
    assert note.startswith("both resumes went on from step 7: no checkpoint that a resumed process wrote")


def test_a_kill_at_the_end_of_an_epoch_is_followed_by_one_in_the_next_and_says_so(tmp_path: Path) -> None:
    result = resumed(Training(), tmp_path, at=9)
    assert (result.verdict, result.kill_at) == ("same", (9, 12))
    assert "step 9 is the last of its epoch" in result.notes[0]


def test_at_the_last_step_there_is_no_second_kill(tmp_path: Path) -> None:
    result = resumed(Training(), tmp_path, at=19)
    assert (result.verdict, result.kill_at, result.steps) == ("same", (19,), 1)
    assert "not killed a second time" in result.notes[0]


@pytest.mark.parametrize(
    "lacking, at, place, lacked",
    [
        ("momentum", 7, (7, "optimizer", "parameters"), ["optimizer state"]),
        ("weights", 7, (7, "forward", "loss"), ["weights"]),
        ("position", 13, (13, "data", "batch"), ["sample order"]),  # the same place of the epoch before
    ],
)
def test_what_is_lacking_is_a_cause(
    lacking: str, at: int, place: tuple[int, str, str], lacked: list[str], tmp_path: Path
) -> None:
    result = resumed(Training(), tmp_path, f"resume {lacking}", at)
    assert result.verdict == "differs"
    assert result.difference is not None
    assert (result.difference.step, result.difference.phase, result.difference.what) == place
    assert named(result) == lacked
    assert [(cause.source, cause.confirmed) for cause in result.causes] == [("resume-state", True)]
    assert result.pair == (result.runs[0], result.runs[2])
    assert result.to_json()["first_difference"]["step"] == at
    assert result.to_json()["lacked"][0]["what"] == lacked[0]
    assert result.kill_at == (at,)
    assert result.notes == ("last.json",)  # what it read is audited


def test_what_only_the_second_resume_lacks_is_found(tmp_path: Path) -> None:
    result = resumed(Training(parts_at={5: 15}), tmp_path)
    assert result.verdict == "differs"
    assert result.difference is not None
    assert (result.difference.step, result.difference.what) == (15, "batch")
    assert result.pair == (result.runs[0], result.runs[4])
    assert result.kill_at == (7, 9)


def test_a_command_that_starts_anew_is_named_where_a_checkpoint_was_there(tmp_path: Path) -> None:
    result = resumed(Training(), tmp_path, "")
    assert (result.verdict, named(result)) == ("differs", ["everything"])
    assert "started from scratch" in result.lacked[0].evidence
    assert "after step 6" in result.lacked[0].evidence


# --- confirming --------------------------------------------------------------------------------------


def test_a_further_run_tells_when_the_killed_one_does_not_reach_so_far(tmp_path: Path) -> None:
    training = Training()
    result = resumed(training, tmp_path, "resume momentum")
    assert stops(training) == [None, 6, None, 7]
    assert result.causes[0].confirmed
    assert len(result.runs) == 3


def test_a_difference_that_the_killed_run_rules_out_needs_no_further_run(tmp_path: Path) -> None:
    training = Training(every=4)
    result = resumed(training, tmp_path, "resume momentum")
    assert result.difference is not None
    assert result.difference.step == 4
    assert (len(training.calls), result.causes[0].confirmed) == (3, True)


def test_without_a_further_run_it_is_not_confirmed(tmp_path: Path) -> None:
    training = Training()
    result = resumed(training, tmp_path, "resume momentum", confirm=False)
    assert (len(training.calls), result.causes[0].confirmed) == (3, False)


def test_a_command_that_parts_from_itself_after_the_kill_is_not_blamed_on_the_checkpoint(
    tmp_path: Path,
) -> None:
    result = resumed(Training(parts_at={1: 12}), tmp_path)
    assert (result.verdict, result.causes) == ("unknown", ())
    assert "diverges at step 12, and so does a further run that was never stopped" in str(result.reason)


# --- unknown -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "training, with_, at, said, calls",
    [
        (
            Training(),
            "resume",
            20,
            "makes 20 optimizer steps, up to step 19: it cannot be killed before step 20",
            1,
        ),
        (Training(steps=1), "resume", 1, "makes 1 optimizer step, up to step 0", 1),
        (Training(steps=0), "resume", 1, "nothing was trained", 1),
        (
            Training(fails_at={1: 3}),
            "resume",
            7,
            "failed when it was not stopped: exit code 1 after 3 steps",
            1,
        ),
        (
            Training(parts_at={2: 4}),
            "resume",
            7,
            "two runs diverge even without a resume, at step 4, in data",
            2,
        ),
        (
            Training(fails_at={2: 4}),
            "resume",
            7,
            "killed at step 7, the command failed (exit code 1 after 4",
            2,
        ),
        (Training(every=0), "resume", 7, "started from scratch: its weights before its first step are", 3),
        (Training(every=9), "resume", 7, "No torch.save was seen before the kill at step 7", 3),
        (Training(fails_at={3: 7}), "resume", 7, "the resumed command failed: exit code 1 after 0 steps", 3),
        (
            Training(fails_at={3: 9}),
            "resume",
            7,
            "the resumed command failed: exit code 1 after 2 steps; its 2 steps agree",
            3,
        ),
        (Training(fails_at={4: 8}), "resume", 7, "the resumed command failed: exit code 1 after 1 step", 4),
    ],
)
def test_what_cannot_be_told_is_unknown_and_says_why(
    training: Training, with_: str, at: int, said: str, calls: int, tmp_path: Path
) -> None:
    result = resumed(training, tmp_path, with_, at)
    assert (result.verdict, result.difference) == ("unknown", None)
    assert said in str(result.reason)
    assert len(training.calls) == calls
    assert result.to_json()["first_difference"] is None


def test_a_checkpoint_of_a_run_that_went_further_is_not_taken_for_its_own(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    result = resumed(Training(every=9, left_in=tmp_path / "elsewhere"), tmp_path)
    assert result.verdict == "unknown"
    assert "went on from step 18, and was killed before step 7: it read what another run" in str(
        result.reason
    )


def test_a_checkpoint_outside_of_the_folder_is_not_killed_twice_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    result = resumed(Training(left_in=tmp_path / "elsewhere"), tmp_path)
    assert (result.verdict, result.kill_at) == ("same", (7,))
    assert f"it read {tmp_path / 'elsewhere' / 'last.json'}, outside its working directory" in result.notes[0]


@pytest.mark.parametrize("there", [True, False])
def test_a_run_that_began_with_an_older_checkpoint_says_so(tmp_path: Path, there: bool) -> None:
    if there:
        (tmp_path / "last.json").write_text('{"step": 2, "weights": "w", "momentum": "m"}')
    command = ("python", "train.py", "resume")  # it looks for one whenever it starts
    request = ResumeRequest(command, command, 7, tmp_path, Store(tmp_path / ".samerun"))
    result = resume(request, Runner(record=Training().record))
    assert result.verdict == "same"
    said = [note for note in result.notes if "read last.json, which was there before" in note]
    assert len(said) == there


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    training = Training(interrupted=3)
    with pytest.raises(KeyboardInterrupt):
        resumed(training, tmp_path)
    assert len(training.calls) == 3


# --- how runs are made -------------------------------------------------------------------------------


class Looks(Training):
    """Keeps the checkpoint that each run finds as it begins."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def record(self, request: LaunchRequest, plan: Plan, at: Workspace) -> Run:
        assert at.copy is not None
        self.found.append((at.copy / "last.json").read_text())
        return super().record(request, plan, at)


def test_every_series_begins_with_the_folder_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "last.json").write_text('{"step": 2, "weights": "w", "momentum": "m"}')
    training = Looks()
    result = resumed(training, tmp_path, "resume resume")
    copies = [call["copy"] for call in training.calls]
    # Never stopped, then killed and resumed: copies at the same place, one after the other, each made anew.
    assert copies[0] == copies[1] == copies[2]
    assert training.found[0] == training.found[1] == (tmp_path / "work" / "last.json").read_text()
    assert copies[3] == copies[4] != copies[2]  # the second kill and resume, from what the first left
    assert training.found[3] == training.found[2] != training.found[0]
    assert not any(copy.exists() for copy in copies)
    assert {call["cwd"] for call in training.calls} == {tmp_path / "work"}
    assert result.verdict == "same"


def test_with_steps_the_runs_end_there(tmp_path: Path) -> None:
    training = Training(steps=1000)
    result = resumed(training, tmp_path, at=3, steps=8)
    assert (result.verdict, result.kill_at, result.steps) == ("same", (3, 6), 2)
    assert stops(training) == [7, 2, 7, 2, 7]


def test_every_run_is_controlled_alike(tmp_path: Path) -> None:
    training = Training()
    result = resumed(training, tmp_path, control=Control(seed=3))
    assert {call["control"] for call in training.calls} == {Control(seed=3)}
    assert result.controlled


@pytest.mark.parametrize("what", [None, "loss", "parameters"])
def test_a_model_that_is_called_before_the_training_does_not_make_it_unrepeatable(
    what: str | None, tmp_path: Path
) -> None:
    """A trainer makes the model again, from a seed."""
    build, again = Builder(tmp_path), previewed("two")
    if what is not None:
        flip(again[find(again, what, 1)])
    assert compare_repeated(build(previewed("one")), build(again)).verdict == ("differs" if what else "same")
