"""Which sources are named when a rerun is not the recorded run again."""

from __future__ import annotations

from pathlib import Path

from samerun.comparing.pairing import RecordedRun
from samerun.experiments.check.result import CheckResult
from samerun.experiments.rerun.reasons import find_changed, list_given, list_parted, list_unreplayed
from samerun.explaining.cause import Cause
from samerun.runs.answers import Answer, append, encode, name_file
from samerun.runs.plan import Replay
from samerun.runs.store import Run


def made(folder: Path, *answers: tuple[str, str, str]) -> Run:
    """A run that was given so: the source, the value, what became of it."""
    folder.mkdir()
    frames = [encode(Answer((), source, "", "", value, what)) for source, value, what in answers]
    assert append(str(folder / name_file(())), frames)
    return Run(folder)


def caused(*sources: str) -> CheckResult:
    return CheckResult("differs", ("a", "b"), causes=tuple(Cause(id_, False, "", "seen") for id_ in sources))


def test_what_was_kept_and_given_is_not_named_and_what_was_not_kept_is(tmp_path: Path) -> None:
    recorded = made(tmp_path / "a", ("torch-cpu", "x", "kept"), ("clock", "x", "kept"))
    again = made(tmp_path / "b", ("torch-cpu", "x", "given"), ("os-entropy", "no", "parted"))
    replay = Replay(str(recorded.path), without=("numpy-global",))

    def named(*causes: str) -> dict[str, str]:
        found = list_unreplayed(recorded, RecordedRun(again), caused(*causes), replay)
        return {item.source: item.why for item in found}

    assert named("torch-cpu", "torch-cuda") == named("os-entropy") == named("dropout", "code") == {}
    assert named("code", "torch-cuda", "torch-xpu") == {"torch-cuda": "the recorded run kept nothing of it"}
    assert named("clock", "thread-scheduling") == {"clock": "the program did not ask for it"}
    assert named("thread-scheduling", "numpy-global") == {
        "thread-scheduling": "it cannot be replayed",
        "numpy-global": "left out by --only or --except",
    }
    assert list_given(again) == ("torch-cpu",)


def test_files_that_were_left_count_where_nothing_explains_it_better() -> None:
    def named(*sources: str) -> list[str]:
        return [cause.source for cause in find_changed(caused(*sources))]

    assert named("listing-order", "resume-state", "input-data", "code") == ["input-data", "code"]
    assert named("resume-state", "clock", "packages") == ["resume-state", "packages"]


def test_a_source_that_was_kept_in_part_is_told_once(tmp_path: Path) -> None:
    ended = [(id_, "it gave more than 4 MB", "ended") for id_ in ("clock", "os-entropy", "torch-cpu")]
    recorded = made(tmp_path / "a", *ended)
    again = made(tmp_path / "b", *[("clock", "it gave more than 4 MB", "parted")] * 2)
    found = list_parted(recorded, again, Replay(str(recorded.path), without=("torch-cpu",)))
    assert [item.source for item in found] == ["clock", "os-entropy"]
