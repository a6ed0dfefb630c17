"""Each file of a run is a link, a pipe, a device, a folder, too large, cut short, or full of other bytes."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from .calling import ask

_A, _B, _PAGE = "runs/run1", "runs/equal", ("-o", "page.html")  # the same bits
DIFF, PAGE, ALONE = ("diff", _A, _B), ("report", _A, _B, *_PAGE), ("report", _A, *_PAGE)
SHOW = ("runs", "show", _A)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


def _link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(path.parents[3] / target if target[0] != "/" else target)


def _huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


UNREADABLE: dict[str, Callable[[Path], None]] = {
    "link to a secret": _link("secret.txt"),
    "link to nothing": _link("nothing"),
    "link to a device": _link("/dev/zero"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "pipe": _fifo,
    "socket": _socket,
    "folder": Path.mkdir,
    "huge": _huge,
}
BYTES: dict[str, bytes] = {
    "empty": b"",
    "zeros": bytes(4096),
    "other bytes": bytes(range(256)) * 9,
    "one line without an end": b"x" * 3_000_000,
}


def put(path: Path, how: str) -> None:
    """Put the damage where the file is."""
    path.unlink(missing_ok=True)
    if how in BYTES:
        path.write_bytes(BYTES[how])
    elif how == "link to a device" and not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero here")
    else:
        UNREADABLE[how](path)


def _fail(folder: Path) -> None:
    """Both runs ended with exit code 1, so that their output is shown."""
    for run in (_A, _B):
        path = folder / run / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "outcome": "failed", "exit_code": 1}))


@pytest.mark.parametrize("how", [*UNREADABLE, *BYTES])
def test_the_manifest(folder: Path, how: str) -> None:
    put(folder / _A / "manifest.json", how)
    for words in (DIFF, PAGE, SHOW):
        answer = ask(folder, *words)
        assert answer.code == 3, answer
        assert "manifest.json" in answer.err and "ecord the run again" in answer.err
    assert not (folder / "page.html").exists()


@pytest.mark.parametrize("how", [*UNREADABLE, *BYTES])
def test_a_trace(folder: Path, how: str) -> None:
    put(folder / _A / "rank0.trace.arrow", how)
    answer = ask(folder, *DIFF)
    assert answer.code == 3, answer
    assert answer.names("rank0.trace.arrow") and answer.names("ecord the run again"), answer
    assert ask(folder, *PAGE).code in (0, 3)
    assert ask(folder, *SHOW).code == 0


@pytest.mark.parametrize("how", [*UNREADABLE, *BYTES])
def test_what_was_printed(folder: Path, how: str) -> None:
    _fail(folder)
    put(folder / _A / "output.txt", how)
    answer = ask(folder, *DIFF)
    assert answer.code == 3, answer
    assert answer.names("output.txt") == (how in UNREADABLE and how != "huge"), answer
    assert ask(folder, *PAGE).code == 0


@pytest.mark.parametrize("file", ["inject-error.txt", "recording-error.txt", "no-torch.txt"])
@pytest.mark.parametrize("how", [*UNREADABLE, *BYTES])
def test_what_a_recorder_said(folder: Path, file: str, how: str) -> None:
    put(folder / _A / file, how)
    if file == "no-torch.txt":
        _fail(folder)
    answer = ask(folder, *DIFF)
    assert answer.code == (0 if file == "inject-error.txt" else 3), answer
    if how in UNREADABLE:
        assert answer.names(file), answer
    assert ask(folder, *PAGE).code == 0


@pytest.mark.parametrize("how", [*UNREADABLE, *BYTES])
def test_a_diagnosis(folder: Path, how: str) -> None:
    put(folder / _A / "diagnosis.json", how)
    answer = ask(folder, *ALONE)
    assert answer.code == 3, answer
    assert "diagnosis.json" in answer.err and "Run `samerun diagnose` again" in answer.err
    assert not (folder / "page.html").exists()


@pytest.mark.parametrize("how", [*UNREADABLE, *BYTES])
def test_a_run_in_a_list(folder: Path, how: str) -> None:
    run = folder / ".samerun" / "runs" / "20261120T000000.000Z-aaaaaa"
    run.parent.mkdir(parents=True)
    (folder / _A).rename(run)
    put(run / "manifest.json", how)
    answer = ask(folder, "runs")
    assert answer.code == 0 and run.name in answer.out and "damaged" in answer.out
    put(run / "rank0.trace.arrow", how)
    assert ask(folder, "runs").code == 0


@pytest.mark.parametrize("how", list(UNREADABLE))
def test_a_whole_run(folder: Path, how: str) -> None:
    """What is no folder is no run."""
    path = folder / "runs" / "odd"
    put(path, how)
    answer = ask(folder, "diff", "runs/odd", _B)
    assert answer.code == 2 and "runs/odd" in answer.err
