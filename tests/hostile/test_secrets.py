"""Passwords and tokens of a command are in no file of its runs, and in nothing that is shown of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli.command import samerun

from samerun.runs.store import Run, Store

from .calling import ask
from .rewriting import rewrite

_SECRETS = ("s3cr3t-0ne", "s3cr3t-Tw0")
_TRAIN = """\
import sys
import torch
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
for _ in range(2):
    model(torch.ones(1, 3)).sum().backward()
assert sys.argv[2].startswith("s3cr3t"), "the command itself gets it"
"""


def _words(secret: str) -> list[str]:
    return [
        "--token",
        secret,
        f"--password={secret}",
        f"https://me:{secret}@example.org/x",
        f"HF_TOKEN={secret}",
    ]


def _found(folder: Path, secret: str) -> list[str]:
    """The files below a folder that hold it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path.name for path in files if secret.encode() in path.read_bytes()]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with a run for each secret, by one who keeps new files from nobody; and what was said."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "train.py").write_text(_TRAIN)
    said = []
    before = os.umask(0)
    try:
        for secret in _SECRETS:
            done = samerun("run", "--", sys.executable, "train.py", *_words(secret), cwd=folder)
            assert done.returncode == 0, done.stderr
            said.append(done.stdout + done.stderr)
    finally:
        os.umask(before)
    return folder, said


def test_runs_hold_no_secret_and_do_not_differ_by_it(told: tuple[Path, list[str]]) -> None:
    folder, said = told
    for secret in _SECRETS:
        assert secret not in "".join(said)
        assert _found(folder / ".samerun", secret) == []
    answer = ask(folder, "diff", "last~1", "last")
    assert answer.code == 0 and answer.out.startswith("✓ same"), answer
    assert "'***'" in ask(folder, "runs", "show", "last").out


def test_a_check_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_TRAIN.replace("torch.manual_seed(0)\n", ""))
    secret = _SECRETS[0]
    command = (sys.executable, "train.py", *_words(secret))
    done = samerun("check", "--no-confirm", "--json", "out.json", "--", *command, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert secret not in done.stdout + done.stderr
    assert "every source controlled; put your secret in the place of ***\n" in done.stdout
    assert _found(tmp_path, secret) == []
    assert json.loads((tmp_path / "out.json").read_text())["command"][3:] == [
        "***",
        "--password=***",
        "https://***@example.org/x",
        "HF_TOKEN=***",
    ]


def test_what_an_older_samerun_kept_is_not_shown(folder: Path) -> None:
    for run, secret in zip(("run1", "run2"), _SECRETS, strict=True):
        path = folder / "runs" / run / "manifest.json"
        value = {**json.loads(path.read_text()), "command": ["python", "train.py", *_words(secret)]}
        path.write_text(json.dumps(value))
        rewrite(folder / "runs" / run, meta={"argv": value["command"]})
    asks = (("diff", "runs/run1", "runs/run2", "--json", "out.json"), ("runs", "show", "runs/run1"))
    asks += (("report", "runs/run1", "runs/run2", "-o", "page.html"), ("diff", "runs/run1", "runs/run2"))
    for words in asks:
        answer = ask(folder, *words)
        assert answer.code in (0, 1)
        for secret in _SECRETS:
            assert secret not in answer.out + answer.err
    assert not any(secret in (folder / "page.html").read_text() for secret in _SECRETS)


def test_a_run_is_for_its_user_alone(told: tuple[Path, list[str]]) -> None:
    run = Store(told[0] / ".samerun").list()[-1]
    assert run.outcome == "finished"
    assert run.path.stat().st_mode & 0o777 == 0o700
    files = {path.name: path.stat().st_mode & 0o777 for path in run.path.iterdir()}
    assert {"manifest.json", "output.txt", "rank0.trace.arrow"} < set(files)
    assert set(files.values()) == {0o600}, files


def test_another_user_cannot_read_a_run(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    run = Run(Store(tmp_path / ".samerun").create())
    (run.path / "output.txt").touch(0o644)
    for above in (run.path.parents[1], run.path.parent, *tmp_path.parents[:3], tmp_path):
        above.chmod(0o755)
    script = f"import os; os.setuid(65534); open({str(run.path / 'output.txt')!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "PermissionError" in done.stderr
