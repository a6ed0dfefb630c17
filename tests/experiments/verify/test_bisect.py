"""The first commit that moved a bit. Covers `bisect_step.py`, `bisected.py` and `clone.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cli.command import samerun

from samerun.errors import UsageError
from samerun.experiments.runner import Runner
from samerun.experiments.verify import bisect as bisecting
from samerun.experiments.verify.bisect import bisect
from samerun.experiments.verify.bisect_step import Setup, copy_inputs
from samerun.experiments.verify.bisected import Bisected
from samerun.experiments.verify.clone import make_clone
from samerun.experiments.verify.request import VerifyRequest
from samerun.runs.lock.file import FILE, write_lock

from ..locking import Machine, lock_of, locked, made_request
from ..scripts import Script


def git(folder: Path, *words: str) -> str:
    who = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run([*who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, subject: str, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", "*.py")
    git(folder, "commit", "-qm", subject)
    return git(folder, "rev-parse", "HEAD")


class Record:
    """Stands in for a run of the commit that is checked out: it reads what the file says."""

    def __init__(self) -> None:
        self.tried: list[str] = []

    def __call__(self, setup: Setup) -> str:
        text = Path(setup.folder, "train.py").read_text()
        self.tried.append(text)
        verdict = {"0.1": "same", "broken": "failed"}.get(text, "differs")
        head = git(Path(setup.top), "rev-parse", "HEAD")
        with Path(setup.log).open("a") as file:
            file.write(f'{{"commit": "{head}", "verdict": "{verdict}"}}\n')
        return verdict


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locked at its first commit, by a training whose second run has another bit."""
    git(tmp_path, "init", "-q")
    commit(tmp_path, "Train", train="0.1")
    (tmp_path / ".gitignore").write_text(".samerun\nsamerun.lock\n")
    assert locked(Machine(Script()), tmp_path).lock is not None
    found = lock_of(tmp_path)
    head = git(tmp_path, "rev-parse", "HEAD")
    write_lock(replace(found, code=replace(found.code, commit=head)), tmp_path / FILE)
    return tmp_path


# git starts this in place of a step, which would start a real training.
STEP = """
import json, subprocess, sys
text, setup = open("train.py").read(), json.load(open(sys.argv[1]))
head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
said = {"0.1": "same", "broken": "failed"}.get(text, "differs")
print(json.dumps({"commit": head, "verdict": said}), file=open(setup["log"], "a"))
sys.exit({"same": 0, "differs": 1}.get(said, 125))
"""


def bisected(folder: Path, monkeypatch: pytest.MonkeyPatch, step: str = STEP) -> tuple[Bisected, Record]:
    record = Record()
    monkeypatch.setattr(bisecting, "try_commit", record)
    monkeypatch.setattr(bisecting, "_STEP", step)
    script = Script(flips=frozenset({(1, 2, "gradients")}))
    asked = VerifyRequest(made_request(folder), lock_of(folder), folder / FILE)
    result = bisect(asked, Runner(record=Machine(script).record))
    assert result.verdict == "differs" and result.bisected is not None
    return result.bisected, record


def test_the_first_commit_that_moved_a_bit_is_named_with_its_files(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project, "Explain", other="1")
    first = commit(project, "Raise the rate", train="0.2", more="2")
    for number in range(4):
        commit(project, f"Later {number}", other=str(number + 5))
    before = git(project, "status", "--porcelain", "--branch", "--ignored")
    found, _ = bisected(project, monkeypatch)
    assert (found.commit, found.subject, found.files) == (first, "Raise the rate", ("more.py", "train.py"))
    assert [item.verdict for item in found.tried[:2]] == ["differs", "same"] and len(found.tried) < 7
    assert git(project, "status", "--porcelain", "--branch", "--ignored") == before
    assert not (project / ".git" / "BISECT_LOG").exists()


def test_commits_that_cannot_be_run_leave_candidates(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = commit(project, "Break", train="broken")
    last = commit(project, "Raise the rate", train="0.2")
    found, _ = bisected(project, monkeypatch)
    assert found.commit is None and set(found.candidates) == {broken, last}


def test_an_error_in_a_step_is_no_answer(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(project, "Explain", other="1")
    commit(project, "Raise the rate", train="0.2")
    step = bisecting._STEP
    monkeypatch.setattr(Setup, "to_json", lambda self: "{}")
    found, _ = bisected(project, monkeypatch, step)
    assert found.commit is None and "git bisect run stopped" in (found.reason or "") and found.candidates


def test_what_is_not_committed_is_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(project, "Explain", other="1")
    (project / "train.py").write_text("0.2")
    found, record = bisected(project, monkeypatch)
    assert found.commit is None and "not committed" in (found.reason or "") and "train.py" in found.files
    assert record.tried == ["0.1"]


def test_a_locked_commit_without_the_locked_bits_ends_the_search(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project, "Raise the rate", train="0.2")
    monkeypatch.setattr(Record, "__call__", lambda self, setup: "differs")
    found, _ = bisected(project, monkeypatch)
    assert "does not give the locked bits here" in (found.reason or "")


def test_a_lock_of_another_history_is_refused(project: Path) -> None:
    lock = lock_of(project)
    asked = VerifyRequest(made_request(project), lock, project / FILE)
    for commit_, what in ((None, "names no commit"), ("0" * 40, "none of those before HEAD")):
        other = replace(asked, lock=replace(lock, code=replace(lock.code, commit=commit_)))
        with pytest.raises(UsageError, match=what):
            bisect(other, Runner(record=Machine(Script()).record))


def test_a_hook_does_not_lead_git_to_the_users_repository(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(project / ".git"))
    with make_clone(project) as clone:
        assert Path(clone.git("rev-parse", "--show-toplevel").strip()) == clone.top != project
        (clone.folder / "left.txt").write_text("by a run")
        clone.clean()
        assert not (clone.folder / "left.txt").exists() and (project / FILE).exists()
        top = clone.top
    assert not top.exists()


def test_inputs_that_git_does_not_have_are_copied(tmp_path: Path) -> None:
    origin, folder = tmp_path / "origin", tmp_path / "clone"
    (origin / "data" / "deep").mkdir(parents=True)
    folder.mkdir()
    for name in ("data/a.txt", "data/deep/b.txt", "c.txt"):
        (origin / name).write_text(name)
    (folder / "c.txt").write_text("of the commit")
    copy_inputs(origin, folder, ["data/", "c.txt", "gone.txt", "…/elsewhere.txt", "./"])
    assert (folder / "data" / "deep" / "b.txt").read_text() == "data/deep/b.txt"
    assert (folder / "c.txt").read_text() == "of the commit" and not (folder / "gone.txt").exists()


TRAIN = """\
import torch
from rate import rate
torch.manual_seed(0)
torch.set_num_threads(1)
data = torch.tensor([float(line) for line in open("data.txt")])
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=rate)
for step in range(3):
    loss = (model(data) - 1).pow(2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("script", ["train", "scripts/train"])
def test_a_real_training_with_data_that_git_ignores(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    (tmp_path / script).parent.mkdir(exist_ok=True)
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("data.txt\n.samerun\n")
    (tmp_path / "data.txt").write_text("\n".join(map(str, range(8))))
    commit(tmp_path, "Train", **{script: TRAIN}, rate="rate = 0.1\n")
    done = samerun("lock", "--", sys.executable, f"{script}.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    commit(tmp_path, "Explain", rate="rate = 0.1  # as published\n")
    first = commit(tmp_path, "Raise the rate", rate="rate = 0.2\n")
    commit(tmp_path, "Explain more", **{script: "# Trains.\n" + TRAIN})
    commit(tmp_path, "Use a name", rate="RATE = rate = 0.2\n")
    before = git(tmp_path, "status", "--porcelain", "--branch")
    done = samerun("verify", "--bisect", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert f"{first[:12]} is the first that moved a bit: Raise the rate it changed rate.py" in text
    assert git(tmp_path, "status", "--porcelain", "--branch") == before
