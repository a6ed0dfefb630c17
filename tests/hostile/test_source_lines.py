"""A run names the lines of code that are shown: it must not make samerun show any other file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .calling import SECRET, ask
from .rewriting import rewrite

_RUNS = ("run1", "run2")


def _name(folder: Path, site: str) -> None:
    for run in _RUNS:
        rewrite(folder / "runs" / run, lambda row: row.update(call_site=site))


def _asks(folder: Path) -> str:
    """What is shown of the two runs, in the terminal and in the page."""
    answer = ask(folder, "diff", *(f"runs/{run}" for run in _RUNS))
    assert answer.code == 1, answer
    assert ask(folder, "report", *(f"runs/{run}" for run in _RUNS), "-o", "page.html").code == 0
    page = (folder / "page.html").read_text()
    assert SECRET not in page
    return answer.out + page


def _link(folder: Path, name: str, target: str) -> None:
    (folder / name).symlink_to(target)


def test_the_line_of_the_script_is_shown(folder: Path) -> None:
    """Without this the others could not fail."""
    _name(folder, "train.py:7")
    assert _asks(folder).count("random.randrange(4)") >= 2


LINKS = {
    "to a file of another kind": ("y.py", "../secret.txt", "y.py:1"),
    "to code elsewhere": ("y.py", "../secret.py", "y.py:1"),
    "to a folder": ("y", "..", "y/secret.py:1"),
    "to the root": ("y", "/", "y{tmp}/secret.py:1"),
    "to a link": ("y.py", "z.py", "y.py:1"),
    "in a circle": ("y.py", "y.py", "y.py:1"),
    "to nothing": ("y.py", "nothing", "y.py:1"),
    "to a device": ("y.py", "/dev/zero", "y.py:1"),
    "to what a process has": ("y.py", "/proc/self/environ", "y.py:1"),
}


@pytest.mark.parametrize("how", LINKS)
def test_a_link_is_not_followed_out_of_the_folder(folder: Path, how: str) -> None:
    name, target, site = LINKS[how]
    _link(folder, "z.py", "../secret.py")
    _link(folder, name, target)
    _name(folder, site.format(tmp=folder.parent))
    _asks(folder)


def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    _link(folder, "y.py", "train.py")
    _name(folder, "y.py:7")
    assert "random.randrange(4)" in _asks(folder)


SITES = {
    "above the folder": "../secret.py:1",
    "an absolute path": "{tmp}/secret.py:1",
    "a path through the folder": "runs/../../secret.py:1",
    "another kind": "notes.txt:1",
    "a link of another kind": "notes.py:1",
    "a line of 6000 digits": "train.py:" + "9" * 6000,
    "a line in other digits": "train.py:\u0661",
    "a line that is not there": "train.py:0",
    "a line beyond the file": "train.py:999999999",
    "a null character": "\0.py:1",
    "no name": ":1",
    "no line": "train.py:",
    "a long name": "a" * 60_000 + ".py:1",
    "many folders": "a/" * 30_000 + "b.py:1",
    "a pipe": "pipe.py:1",
    "a folder": "folder.py:1",
    "a huge file": "huge.py:1",
    "escapes": "\x1b[2J\u202etrain.py:1",
}


@pytest.mark.parametrize("how", SITES)
def test_a_call_site_that_is_none(folder: Path, how: str) -> None:
    (folder / "notes.txt").write_text(SECRET)
    _link(folder, "notes.py", "notes.txt")
    os.mkfifo(folder / "pipe.py")
    (folder / "folder.py").mkdir()
    with (folder / "huge.py").open("wb") as file:
        file.truncate(1 << 40)
    _name(folder, SITES[how].format(tmp=folder.parent))
    _asks(folder)


@pytest.mark.parametrize("cwd", ["{tmp}", "/", "..", "{tmp}/other"])
def test_a_manifest_does_not_lead_to_another_folder(folder: Path, cwd: str) -> None:
    other = folder.parent / "other"
    other.mkdir()
    for place in (other, folder.parent):
        (place / "train.py").write_text(f"password = '{SECRET}'\n" * 9)
    for run in _RUNS:
        path = folder / "runs" / run / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "cwd": cwd.format(tmp=folder.parent)}))
    for site in ("train.py:7", f"{folder.parent}/train.py:7"):
        _name(folder, site)
        _asks(folder)


def test_code_is_shown_from_the_folder_that_holds_the_runs(folder: Path) -> None:
    _name(folder, "train.py:7")
    store, elsewhere = folder / ".samerun", folder.parent / "elsewhere"
    store.mkdir()
    elsewhere.mkdir()
    (folder / "runs").rename(store / "runs")
    answer = ask(elsewhere, "diff", *(str(store / "runs" / run) for run in _RUNS))
    assert answer.code == 1 and "random.randrange(4)" in answer.out


@pytest.mark.parametrize(
    "name",
    ["..", "../..", "/", ".", "a/../../b", "\x1b[2J", "last~" + "9" * 20, "last~" + "9" * 5000, "x" * 5000],
)
def test_a_run_of_no_name(folder: Path, name: str) -> None:
    for words in (("diff", name, "runs/run1"), ("runs", "show", name), ("runs", "remove", name)):
        answer = ask(folder, *words)
        assert answer.code == 2, answer
    assert (folder / "runs/run1/manifest.json").exists()
