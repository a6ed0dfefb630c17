"""Where nothing proves a cause, the line where a value first differed is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from trainer import Trainer

import samerun.experiments.check.follow_values as module
from samerun.comparing.compare_runs import compare
from samerun.experiments.check.check import check
from samerun.experiments.check.follow_values import follow_values
from samerun.experiments.check.zoom import Zoom
from samerun.experiments.request import Request
from samerun.experiments.trials import Trials
from samerun.explaining.cause import Cause, Findings
from samerun.explaining.explained import Explained
from samerun.explaining.followed import Followed
from samerun.runs.difference import Evidence, Strength
from samerun.runs.store import Run

# The processor's time as the C library gives it: no source sees that call.
SCRIPT = """
import ctypes, time, torch
torch.manual_seed(0)
libc = ctypes.CDLL(None)
def scale():
    number = libc.clock()
    return 1 + number % 1000 / 1000
began = time.perf_counter()
model = torch.nn.Linear(4, 1)
factor = scale()
for step in range(2):
    x = torch.ones(2, 4) * factor
    loss = model(x).square().mean()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.1 * parameter.grad
    model.zero_grad()
    print(loss.item(), time.perf_counter() - began)
"""
NOTE = (
    "`number` differs first ({} and {}), though all that the line reads is equal, at train.py:6; "
    "no source of the catalogue is known to give it"
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Run]]:
    folder = tmp_path_factory.mktemp("followed")
    trainer = Trainer(folder)
    trainer.script(SCRIPT)
    return folder, [trainer.record("train.py", lines=True) for _ in range(2)]


class Recorded(Trials):
    """Gives runs that are there already."""

    runs: list[Run]

    def record(self, stage: str, count: int, *_: object, **__: object) -> list[Run]:
        return [self.runs.pop(0) for _ in range(count)]


def follow(folder: Path, runs: list[Run], findings: Findings) -> Findings:
    trials = Recorded(Request(("python", "train.py"), folder, Trainer(folder).store))
    trials.runs = list(runs)
    difference = compare(*runs[:2]).difference
    assert difference is not None
    zoom = Zoom(Explained(difference), (runs[0].id, runs[1].id), True, None, None)
    return follow_values(trials, zoom, findings, None)


def test_the_line_that_no_source_saw_is_a_note_with_its_values(runs: tuple[Path, list[Run]]) -> None:
    folder, recorded = runs
    found = follow(folder, [*recorded, recorded[1]], Findings())
    assert not found.causes
    (note,) = found.notes
    assert note.startswith("`number` differs first (") and note.endswith(NOTE.partition("),")[2])


def test_a_run_that_goes_on_as_run_a_proves_the_line(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (a, b) = runs
    found = follow(folder, [a, b, a], Findings())
    assert found.notes[1] == (
        "a run in which `number` at train.py:6 got the values of run A went on as run A, bit for bit"
    )
    evidence = Evidence("clock", Strength.STRONG, "", "train.py:6")
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((evidence,), (), is_plain=True))
    assert [cause.confirmed for cause in follow(folder, [a, b, a], Findings()).causes] == [True]
    assert [cause.confirmed for cause in follow(folder, [a, b, b], Findings()).causes] == [False]
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((evidence,), (), is_plain=False))
    assert [cause.confirmed for cause in follow(folder, [a, b, a], Findings()).causes] == [False]


def test_a_confirmed_cause_with_a_line_costs_no_more_runs(runs: tuple[Path, list[Run]]) -> None:
    cause = Cause("torch-cpu", True, "", "", "train.py:3")
    findings = Findings((cause,))
    assert follow_values(None, None, findings, None) is findings  # type: ignore[arg-type]


def test_following_moves_no_bit(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(SCRIPT.replace("libc.clock()", "123"))
    plain, followed = trainer.record("train.py"), trainer.record("train.py", lines=True)
    assert compare(plain, followed).verdict == "same"
    assert followed.outcome == "finished"


@pytest.mark.slow
def test_check_names_the_line(tmp_path: Path) -> None:
    import sys

    trainer = Trainer(tmp_path)
    trainer.script(SCRIPT)
    result = check(Request((sys.executable, "train.py"), tmp_path, trainer.store))
    assert result.verdict == "differs"
    assert any(note.endswith(NOTE.partition("),")[2]) for note in result.notes)
    assert any(note.endswith("went on as run A, bit for bit") for note in result.notes)
