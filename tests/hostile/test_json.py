"""JSON that is too deep, too long, of wrong types or out of range: in a manifest, a diagnosis, a trace."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .calling import ask
from .rewriting import rewrite
from .test_files import ALONE, DIFF, PAGE, SHOW

_RUNS = ("runs/run1", "runs/equal")
_ESCAPES = "\x1b]0;x\x07\x1b[2J<script>alert(1)</script>\u202e\r\n"
TEXTS: dict[str, bytes] = {
    "no object": b"[]",
    "a word": b"null",
    "cut short": b'{"schema": 1',
    "null characters": b"\0" * 10,
    "a byte order mark": b"\xef\xbb\xbf{}",
    "other bytes": b'{"schema": "\xff\xfe"}',
    "deep lists": b'{"schema": 1, "steps": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "a little too deep": b'{"schema": 1, "plan": ' + b"[" * 120 + b"]" * 120 + b"}",
    "a number of 6000 digits": b'{"schema": 1, "steps": ' + b"9" * 6000 + b"}",
    "another schema": b'{"schema": 99}',
    "a schema that is no number": b'{"schema": "\\u001b[2J"}',
    "not a number": b'{"schema": NaN}',
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("file", ["manifest.json", "diagnosis.json"])
def test_a_text(folder: Path, file: str, text: str) -> None:
    (folder / _RUNS[0] / file).write_bytes(TEXTS[text])
    for words in (ALONE,) if file == "diagnosis.json" else (DIFF, SHOW):
        answer = ask(folder, *words)
        assert answer.code == 3, answer
        assert file in answer.err and len(answer.err) < 500
        assert re.search("[Rr]ecord the run again|`samerun diagnose` again", answer.err)


def change(folder: Path, file: str, **values: Any) -> None:
    for run in _RUNS:
        path = folder / run / file
        if path.exists():
            path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


REFUSED: dict[str, dict[str, Any]] = {
    "negative steps": {"steps": -5},
    "more steps than there can be": {"steps": 2**31},
    "a duration without an end": {"duration_s": float("inf")},
    "a duration that is no number": {"duration_s": float("nan")},
    "a negative duration": {"duration_s": -1.0},
    "an exit code of 30 digits": {"exit_code": 10**30},
    "an unknown outcome": {"outcome": "\x1b[2Jgreat"},
    "a command that is no list": {"command": {"a": 1}},
    "words that are no text": {"command": ["python", 5]},
    "a plan that is no object": {"plan": [1]},
    "settings that are no object": {"settings": 5},
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_manifest_that_is_refused(folder: Path, how: str) -> None:
    change(folder, "manifest.json", **REFUSED[how])
    for words in (DIFF, PAGE, SHOW):
        answer = ask(folder, *words)
        assert answer.code == 3, answer
        assert "manifest.json is damaged" in answer.err and "Record the run again" in answer.err


TAKEN: dict[str, dict[str, Any]] = {
    "settings of other types": {"settings": {"threads": 5, "packages": [1], "code": [["a"]]}},
    "an environment of objects": {"environment": {"A": {"x": 1}, "B": None}},
    "packages of other types": {"packages": {"torch": None, "x": [1]}},
    "git of other types": {"git": {"commit": [1], "dirty": "x", "diff": {"a": 1}}},
    "a plan of other types": {"plan": {"control": 5, "window": "abc", "stop_after": "x"}},
    "a control of other types": {"plan": {"control": {"only": 5}}, "mode": "strict"},
    "a window of one step": {"plan": {"window": [1]}, "tier": "ops"},
    "a window of words": {"plan": {"window": ["a", {}]}, "tier": "ops"},
    "a window without an end": {"plan": {"window": [0, 10**50]}, "tier": "ops"},
    "a stop after a list": {"plan": {"stop_after": []}, "outcome": "stopped"},
    "an unknown mode": {"mode": "zzz"},
    "an unknown tier": {"tier": "everything"},
    "a folder with a null character": {"cwd": "/nonexistent\0x"},
    "a folder with a long name": {"cwd": "/" + "a" * 100_000},
    "the root": {"cwd": "/"},
    "a time with escapes": {"started": _ESCAPES},
    "a command with escapes": {"command": ["python", _ESCAPES]},
    "a seed of 50 digits": {"seed": 10**50, "mode": "strict"},
    "an unknown signal": {"exit_code": -999, "outcome": "failed"},
    "an error with escapes": {"outcome": "failed", "exit_code": 1, "error": _ESCAPES},
    "an id that leads elsewhere": {"id": "../../../etc/passwd"},
    "a long command": {"command": ["x" * 1_000_000]},
}


@pytest.mark.parametrize("how", TAKEN)
def test_a_manifest_that_is_odd(folder: Path, how: str) -> None:
    change(folder, "manifest.json", **TAKEN[how])
    for words in (DIFF, PAGE, SHOW):
        answer = ask(folder, *words)
        assert answer.code in (0, 1, 3) and (answer.out or "manifest.json" in answer.err), answer


FORGED: dict[str, dict[str, Any]] = {
    "losses of words": {"losses": [{"0": ["x"]}, {}]},
    "losses of negative steps": {"losses": [{"-5": [1.0]}, {"9" * 30: [1.0]}]},
    "losses of one run": {"losses": [{}]},
    "no runs": {"runs": [], "losses": []},
    "runs that lead elsewhere": {"runs": ["../../secret.txt", "/etc"]},
    "an unknown verdict": {"verdict": "great"},
    "a number for a list": {"found": 5},
    "negative steps": {"steps": -(10**40)},
    "causes of other types": {"causes": [[]]},
    "notes with escapes": {"notes": [_ESCAPES]},
    "a patch of other types": {"patch": [1]},
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_diagnosis(folder: Path, how: str) -> None:
    change(folder, "diagnosis.json", **FORGED[how])
    answer = ask(folder, *ALONE)
    assert answer.code in (0, 3)
    assert answer.code == 0 or "diagnosis.json" in answer.err
    page = folder / "page.html"
    assert page.exists() == (answer.code == 0)
    assert not page.exists() or "<script>alert(1)" not in page.read_text()


META: dict[str, dict[str, Any]] = {
    "a rank of 400 digits": {"rank": 10**400},
    "a rank of 50 digits": {"rank": 10**50},
    "a negative rank": {"rank": -5},
    "half a rank": {"rank": 1.5},
    "an ordinal of 6000 digits": {"pair": "0||abc|" + "9" * 6000},
    "an ordinal in other digits": {"pair": "a|b|c|\u0663"},
    "digests of lists": {"digests": {"a": [[1]]}},
    "a command line that is no list": {"argv": {"x": 1}},
    "a version with escapes": {"python": _ESCAPES, "argv": ["python", _ESCAPES]},
    "deep": {"x": json.loads("[" * 500 + "]" * 500)},
    "another schema": {"schema": 99},
    "a schema that is true": {"schema": True},
}


@pytest.mark.parametrize("how", META)
def test_what_a_trace_says_of_itself(folder: Path, how: str) -> None:
    for run in _RUNS:
        rewrite(folder / run, meta=META[how])
    answer = ask(folder, *DIFF)
    assert answer.code in (0, 3)
    if how in ("a rank of 400 digits", "deep", "another schema"):
        assert answer.code == 3 and answer.names("rank0.trace.arrow"), answer
    assert ask(folder, *PAGE).code in (0, 3)
