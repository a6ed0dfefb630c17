"""Where nothing proves a cause, the line where a value first differed is named."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from unittest.mock import patch

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
from samerun.explaining.confirm import SURE
from samerun.explaining.explained import Explained
from samerun.explaining.followed import Followed
from samerun.launching.workspace import Workspace
from samerun.runs.difference import Evidence, Strength
from samerun.runs.plan import Given, Plan
from samerun.runs.store import Run

# A multiple of the process id, as the C library gives it: no source sees it, and no two runs have the same.
SCRIPT = """
import ctypes, time, torch
torch.manual_seed(0)
ask = ctypes.CDLL(None).getpid
def scale():
    number = 3 * ask()
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
    made = [trainer.record("train.py", lines=True) for _ in range(2)]
    _DIFFERING[:] = made
    _FILES.update((path, path.read_bytes()) for run in made for path in run.path.glob("lines.*"))
    return folder, made


class Recorded(Trials):
    """Gives runs that are there already, with what was followed of them."""

    runs: list[Run]
    places: list[Workspace | None]
    stops: list[int | None]

    def record(self, stage: str, count: int, plan: Plan, at: Workspace | None = None) -> list[Run]:
        self.places += [at] * count
        self.stops += [plan.stop_after] * count
        return [_put_back(self.runs.pop(0)) for _ in range(count)]


_FILES: dict[Path, bytes] = {}
_DIFFERING: list[Run] = []


def _put_back(run: Run) -> Run:
    for path, data in _FILES.items():
        if path.parent == run.path:
            path.write_bytes(data)
    return run


def follow(
    folder: Path,
    runs: list[Run],
    findings: Findings,
    *,
    spent: int = 3,
    evidence: tuple[Evidence, ...] = (),
    stops: tuple[int | None, ...] = (None,),
) -> Findings:
    """What is found with these runs, of which so many are asked for."""
    trials = Recorded(Request(("python", "train.py"), folder, Trainer(folder).store))
    trials.runs, trials.places, trials.stops = list(runs), [], []
    difference = compare(*_DIFFERING).difference
    assert difference is not None
    zoom = Zoom(Explained(difference), (runs[0].id, runs[1].id), True, None, stops[0])
    with patch("samerun.explaining.explained.explain", lambda _: (list(evidence), [])):
        found = follow_values(trials, zoom, findings, None)
    assert len(trials.places) == spent
    assert tuple(dict.fromkeys(trials.stops)) == (stops if spent else ())
    given = trials.places[2 * len(stops) :]
    assert all(at is not None and at.fresh for at in given)  # none writes what run A wrote
    assert not spent or not list(folder.glob(".samerun/runs/*/lines.*"))
    return found


@pytest.mark.slow
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


def test_what_was_read_of_files_that_are_equal_is_not_their_doing(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (a, b) = runs
    evidence = Evidence("input-data", Strength.STRONG, "", "train.py:6")
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((evidence,), ()))
    assert not follow(folder, [a, b, b], Findings()).causes
    monkeypatch.setattr(module, "has_changed_file", lambda _: True)
    assert [cause.source for cause in follow(folder, [a, b, b], Findings()).causes] == ["input-data"]


@pytest.mark.parametrize(("line", "advice"), [(6, "ORDER BY id"), (7, None)])
def test_what_is_recorded_of_a_source_at_the_line_knows_the_advice(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch, line: int, advice: str | None
) -> None:
    folder, (a, b) = runs
    evidence = Evidence("system-reads", Strength.STRONG, "", "train.py:6")
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((evidence,), ()))
    recorded = Evidence("system-reads", Strength.PLAUSIBLE, "", f"train.py:{line}", "ORDER BY id")
    found = follow(folder, [a, b, b], Findings(), evidence=(recorded,))
    without = follow(folder, [a, b, b], Findings())
    assert found.causes[0].advice == (advice or without.causes[0].advice) != ""


@pytest.mark.parametrize("seen", [True, False])
def test_what_is_found_is_no_suspect_as_well(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    folder, (a, b) = runs
    monkeypatch.setattr(
        module,
        "explain_origins",
        lambda *_: Followed((Evidence("numpy-global", Strength.STRONG, "", "train.py:6"),), ()),
    )
    suspects = tuple(Cause(source, False, "", "not the first") for source in ("numpy-global", "clock"))
    best = Evidence("memory-address", Strength.SEEN if seen else Strength.SLIGHT, "", "train.py:1")
    found = follow(folder, [a, b, b], Findings((), suspects), evidence=(best,), spent=2 if seen else 3)
    assert [cause.source for cause in found.causes] == ["numpy-global"]
    assert [cause.source for cause in found.suspects] == ["clock"]


def test_beside_a_race_as_many_runs_must_agree_as_for_any_cause(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (a, b) = runs
    evidence = Evidence("clock", Strength.STRONG, "", "train.py:6")
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((evidence,), (), is_plain=True))
    race = (Evidence("thread-scheduling", Strength.FAIR, "", "train.py:1"),)
    found = follow(folder, [a, b, *[a] * (SURE - 1)], Findings(), spent=SURE + 1, evidence=race)
    assert [cause.confirmed for cause in found.causes] == [True]
    found = follow(folder, [a, b, a, a, b, a, a], Findings(), spent=5, evidence=race)
    assert [cause.confirmed for cause in found.causes] == [False]


def test_runs_that_agree_as_long_as_they_are_slowed_are_followed_for_longer(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (a, b) = runs
    evidence = Evidence("thread-scheduling", Strength.STRONG, "", "train.py:6")
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((evidence,), (), is_plain=False))
    found = follow(folder, [a, a, a, b, b], Findings(), spent=5, stops=(3, 12))
    assert [cause.call_site for cause in found.causes] == ["train.py:6"]
    assert not follow(folder, [a, a, a, a], Findings(), spent=4, stops=(3, 12)).causes


def test_of_several_values_given_together_none_is_confirmed(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (a, b) = runs
    evidence = Evidence("clock", Strength.STRONG, "", "train.py:6")
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((evidence,), (), is_plain=True))
    one = Given((), "train.py", 6, "number", (1,))
    monkeypatch.setattr(module, "find_given", lambda *_: (one, one))
    assert [cause.confirmed for cause in follow(folder, [a, b, a], Findings()).causes] == [False]


def test_a_confirmed_cause_with_a_line_costs_no_more_runs(runs: tuple[Path, list[Run]]) -> None:
    cause = Cause("torch-cpu", True, "", "", "train.py:3")
    findings = Findings((cause,))
    folder, (a, b) = runs
    assert follow(folder, [a, b], findings, spent=0) is findings


@pytest.mark.parametrize(("strength", "line"), [(Strength.REMOTE, 6), (Strength.PLAUSIBLE, 3)])
def test_a_confirmed_cause_whose_line_was_guessed_gets_the_one_that_is_found(
    runs: tuple[Path, list[Run]], monkeypatch: pytest.MonkeyPatch, strength: Strength, line: int
) -> None:
    folder, (a, b) = runs
    guess = Evidence("hash-seed", strength, "a library may hash", "train.py:3")
    found = Evidence("hash-seed", Strength.STRONG, "its order differs", "train.py:6")
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((found,), ()))
    findings = Findings((Cause("hash-seed", True, "", guess.text, guess.call_site),))
    spent = 2 if strength is Strength.REMOTE else 0
    (cause,) = follow(folder, [a, b], findings, spent=spent, evidence=(guess,)).causes
    assert (cause.confirmed, cause.call_site) == (True, f"train.py:{line}")
    assert cause.evidence == (found if spent else guess).text
    monkeypatch.setattr(module, "explain_origins", lambda *_: Followed((), ()))
    (cause,) = follow(folder, [a, b], findings, spent=spent, evidence=(guess,)).causes
    assert (cause.call_site, cause.evidence) == ("train.py:3", guess.text)


def test_following_moves_no_bit(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(SCRIPT.replace("3 * ask()", "123"))
    plain, followed = trainer.record("train.py"), trainer.record("train.py", lines=True)
    assert compare(plain, followed).verdict == "same"
    assert followed.outcome == "finished"


@pytest.mark.slow
def test_check_names_the_line(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script(SCRIPT)
    result = check(Request((sys.executable, "train.py"), tmp_path, trainer.store))
    assert result.verdict == "differs"
    assert any(note.endswith(NOTE.partition("),")[2]) for note in result.notes)
    assert any(note.endswith("went on as run A, bit for bit") for note in result.notes)


@pytest.mark.slow
def test_check_names_the_line_where_a_library_gives_a_set(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    words = frozenset({f"word{number}" for number in range(50)})
    (tmp_path / "words.pickle").write_bytes(pickle.dumps(words))
    trainer.script("""
        import pickle, torch
        torch.manual_seed(0)
        with open("words.pickle", "rb") as file:
            words = pickle.load(file)
        ids = dict(zip(words, range(len(words))))
        batch = torch.tensor([[ids["word1"], ids["word2"]]])
        model = torch.nn.EmbeddingBag(len(ids), 4)
        for step in range(2):
            model(batch).sum().backward()
            for p in model.parameters():
                p.data, p.grad = p.data - 0.1 * p.grad, None
    """)
    result = check(Request((sys.executable, "train.py"), tmp_path, trainer.store))
    assert [(each.source, each.confirmed) for each in result.causes] == [("hash-seed", True)]
    assert result.causes[0].call_site == "train.py:5"
    assert result.causes[0].evidence == "`words` holds the same in both runs, and gives it in another order"


@pytest.mark.slow
def test_check_tries_what_differs_where_nothing_is_known_to_lead_to_the_difference(tmp_path: Path) -> None:
    """A learning rate goes through torch's scheduler and optimizer, whose objects are not followed."""
    trainer = Trainer(tmp_path)
    trainer.script("""
        import time, torch
        torch.manual_seed(0)
        class Rate:
            def __call__(self, epoch):
                spent = time.process_time()
                return 1 / (1 + spent)
        print("began after", time.perf_counter())
        model = torch.nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, Rate())
        for step in range(3):
            model(torch.ones(2, 4)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
    """)
    result = check(Request((sys.executable, "train.py"), tmp_path, trainer.store))
    assert [(each.source, each.confirmed, each.replayed) for each in result.causes] == [("clock", True, True)]
    assert result.causes[0].call_site == "train.py:6"
