"""Covers `extras.py`, `in_toto.py` and `ro_crate.py`; what needs the libraries is skipped without them."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import pytest
from experiments.locking import Machine, lock_of, locked
from experiments.scripts import Script

from samerun.cli.arguments import find_verbs, parse
from samerun.errors import UsageError
from samerun.report.exports.in_toto import PREDICATE, build_in_toto
from samerun.report.exports.ro_crate import write_ro_crate
from samerun.runs.lock.file import FILE

ARCHIVE = all(importlib.util.find_spec(name) for name in ("rocrate", "in_toto_attestation"))
needs_libraries = pytest.mark.skipif(not ARCHIVE, reason="pip install 'samerun[archive]'")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text("lr = 0.1\n")
    assert locked(Machine(Script()), tmp_path).lock is not None
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(line: str) -> int:
    verb, options = parse(line.split(), find_verbs())
    return verb.run(options)


def test_a_statement_is_printed_and_nothing_is_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((folder / ".samerun" / "runs").iterdir())
    assert call("lock --statement") == 0 and capsys.readouterr().out.startswith("## Reproducibility\n")
    assert call("lock --statement latex") == 0 and r"\paragraph{Reproducibility}" in capsys.readouterr().out
    assert sorted((folder / ".samerun" / "runs").iterdir()) == before
    with pytest.raises(UsageError, match="run nothing"):
        call("lock --statement -- python train.py")


@pytest.mark.parametrize("line", ["lock --ro-crate crate", "lock --in-toto lock.json"])
def test_without_the_library_one_line_says_what_to_install(
    folder: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("rocrate.rocrate", "in_toto_attestation.v1.statement"):
        monkeypatch.setitem(sys.modules, name.partition(".")[0], None)
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install 'samerun\[archive\]'"):
        call(line)
    assert not (folder / "crate").exists() and not (folder / "lock.json").exists()


@needs_libraries
def test_an_in_toto_statement_has_the_lock_as_its_subject(folder: Path) -> None:
    assert call("lock --in-toto lock.json") == 0
    found = json.loads((folder / "lock.json").read_text())
    assert found == build_in_toto(lock_of(folder), folder / FILE)
    digest = hashlib.sha256((folder / FILE).read_bytes()).hexdigest()
    assert found["subject"] == [{"name": FILE, "digest": {"sha256": digest}}]
    assert (found["_type"], found["predicateType"]) == ("https://in-toto.io/Statement/v1", PREDICATE)
    assert found["predicate"]["code"]["files"] == dict(lock_of(folder).code.files)


@needs_libraries
def test_a_crate_has_the_lock_and_the_locked_code(folder: Path) -> None:
    assert call("lock --ro-crate crate") == 0
    found = json.loads((folder / "crate" / "ro-crate-metadata.json").read_text())
    names = {item["@id"] for item in found["@graph"]}
    assert {"samerun.lock", "train.py", "#run"} <= names
    assert (folder / "crate" / "train.py").read_text() == "lr = 0.1\n"
    with pytest.raises(UsageError, match="is there already"):
        call("lock --ro-crate crate")
    (folder / "train.py").write_text("lr = 0.2\n")
    with pytest.raises(UsageError, match=r"train\.py is not as locked"):
        write_ro_crate(lock_of(folder), folder / FILE, folder, folder / "other")
