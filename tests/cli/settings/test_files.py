"""[tool.samerun] and samerun.toml: what they keep is used where the command line leaves it open."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.command import samerun
from samerun.cli.arguments import find_verbs, parse
from samerun.cli.settings.files import read_settings
from samerun.cli.settings.store import open_store
from samerun.errors import UsageError

KEPT = """
command = "python train.py --lr 0.1"
runs = 4
steps = 3
mode = "warn"
seed = 7
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samerun.toml").write_text(KEPT)
    return tmp_path


def options(*words: str):
    return parse(words, find_verbs())[1]


@pytest.mark.parametrize("verb", ["check", "diagnose", "run", "vary", "cost"])
def test_a_verb_without_a_command_takes_the_one_that_is_kept(folder: Path, verb: str) -> None:
    assert options(verb).command == ["python", "train.py", "--lr", "0.1"]
    assert options(verb, "--", "true").command == ["true"]


def test_runs_and_steps_hold_for_the_verbs_that_have_them(folder: Path) -> None:
    found = options("check")
    assert (found.runs, found.steps) == (4, 3)
    found = options("check", "-n", "2", "--steps", "5")
    assert (found.runs, found.steps) == (2, 5)
    assert options("diagnose").runs == 4
    assert options("vary").steps == options("cost").steps == 3
    assert not hasattr(options("run"), "steps")


def test_a_number_that_is_too_small_for_the_verb_names_the_key(folder: Path) -> None:
    (folder / "samerun.toml").write_text("steps = 1\ncommand = ['true']\n")
    assert options("check").steps == 1
    with pytest.raises(UsageError, match=r"samerun\.toml: steps is 1, for samerun cost: .* give 2 or more"):
        options("cost")


def test_cost_and_study_take_seed_and_mode(folder: Path) -> None:
    verbs = find_verbs()
    assert verbs["cost"].request(options("cost")).control.seed == 7
    assert verbs["cost"].request(options("cost", "--seed", "0")).control.seed == 0
    assert verbs["study"].request(options("study", "--metric", "x")).mode == "warn"
    (folder / "samerun.toml").write_text("mode = 'off'\n")
    with pytest.raises(UsageError, match="mode is off"):
        verbs["study"].request(options("study", "--metric", "x", "--", "true"))


def test_a_kept_command_is_run_in_the_folder_of_its_file_alone(folder: Path, monkeypatch) -> None:
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    with pytest.raises(UsageError, match=f"cd {folder}"):
        options("check")
    assert options("check", "--", "true").steps == 3


def test_without_a_kept_command_one_is_asked_for(folder: Path) -> None:
    (folder / "samerun.toml").write_text("runs = 3\n")
    with pytest.raises(UsageError, match="no command to run"):
        options("check")


def test_two_files_with_settings_in_one_folder_are_refused(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[project]\nname = 'samerun-user'\n")
    assert read_settings(folder).runs == 4
    (folder / "pyproject.toml").write_text("[tool.samerun]\nruns = 2\n")
    with pytest.raises(UsageError, match=r"samerun\.toml and .*pyproject\.toml both"):
        read_settings(folder)


def test_a_mistake_in_samerun_toml_names_that_file(folder: Path) -> None:
    (folder / "samerun.toml").write_text("[tool.samerun]\nruns = 2\n")
    with pytest.raises(UsageError, match=r"samerun\.toml: there is no key 'tool'; did you mean"):
        read_settings(folder)


def test_a_source_that_does_not_exist_is_refused_whether_or_not_the_verb_controls_it(folder: Path) -> None:
    (folder / "samerun.toml").write_text('command = "python train.py"\ncontrol = ["clok"]\n')
    with pytest.raises(UsageError, match=r"control clok.*did you mean 'clock'"):
        read_settings(folder)


def test_the_store_is_relative_to_the_file(folder: Path, monkeypatch) -> None:
    assert open_store().runs == Path(".samerun/runs")
    (folder / "samerun.toml").write_text("store = 'kept'\n")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert open_store().runs == folder / "kept" / ".samerun" / "runs"


def test_run_and_runs_use_the_kept_command_and_store(tmp_path: Path) -> None:
    (tmp_path / "hello.py").write_text("print('hello')\n")
    (tmp_path / "samerun.toml").write_text(f"command = [{sys.executable!r}, 'hello.py']\nstore = 'kept'\n")
    done = samerun("run", cwd=tmp_path)
    assert done.returncode == 0 and "hello" in done.stdout
    assert not (tmp_path / ".samerun").exists()
    (run,) = (tmp_path / "kept" / ".samerun" / "runs").iterdir()
    assert run.name in samerun("runs", cwd=tmp_path).stdout


TRAINING = """
import os, torch
torch.manual_seed(0)
body, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)
torch.nn.init.constant_(body.weight, 0.5)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = body, head
        self.probe = torch.nn.Parameter(torch.tensor([float(os.getpid())]))  # in no loss
    def forward(self, x):
        return self.head(self.body(x))
model = Model()
for step in range(3):
    loss = model(torch.ones(8, 4)).square().mean()
    loss.backward()
    for p in [*body.parameters(), *head.parameters()]: p.data, p.grad = p.data - 0.1 * p.grad, None
"""


@pytest.mark.slow
def test_check_reports_same_and_what_it_ignored_in_text_and_json(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING)
    kept = f"[tool.samerun]\ncommand = [{sys.executable!r}, 'train.py']\n"
    (tmp_path / "pyproject.toml").write_text(kept)
    done = samerun("check", "--no-confirm", "--json", "-", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["verdict"] == "differs" and found["first_difference"]["step"] == 0
    assert found["ignored"] == []
    (tmp_path / "pyproject.toml").write_text(f"{kept}ignore = {{probe = 'a process id'}}\n")
    done = samerun("check", "--json", "found.json", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert {"what": "parameters", "name": "probe", "reason": "a process id"} in found["ignored"]
    assert any("probe" in note and "a process id" in note for note in found["notes"])
    said = " ".join(done.stdout.split())
    assert "but for what is ignored (probe)" in said and "a process id" in said
    done = samerun("diff", "last~1", "last", cwd=tmp_path)
    assert done.returncode == 0 and "ignored (probe)" in " ".join(done.stdout.split())
