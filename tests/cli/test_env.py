from __future__ import annotations

import json
from pathlib import Path

import pytest
import torches

from samerun.cli.main import main
from samerun.sources.catalogue import find_sources

from .command import samerun


def test_every_source_is_described(tmp_path: Path) -> None:
    done = samerun("env", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sources = json.loads(done.stdout)["sources"]
    assert set(sources) == set(find_sources())
    assert sources["torch-cpu"]["in_play"]
    assert not [source for source, said in sources.items() if said["error"]]


def test_the_text_names_each_source_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env"]) == 0
    text = capsys.readouterr().out
    for source in find_sources().values():
        assert source.id in text
        assert source.summary in text


def test_without_torch_the_rest_is_described_and_one_line_says_why(tmp_path: Path) -> None:
    done = samerun("env", "--json", "-", cwd=tmp_path, env={"PYTHONPATH": torches.missing(tmp_path)})
    assert done.returncode == 0
    sources = json.loads(done.stdout)["sources"]
    assert set(sources) == set(find_sources())
    assert not [source for source, said in sources.items() if said["error"]]
    assert not sources["torch-cpu"]["in_play"]
    assert sources["numpy-global"]["in_play"]
    (line,) = done.stderr.splitlines()
    assert line.startswith("samerun: the sources of torch are not described in full: ")
    assert "has no torch" in line


def test_an_old_torch_is_said(tmp_path: Path) -> None:
    done = samerun("env", cwd=tmp_path, env={"PYTHONPATH": torches.old(tmp_path)})
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "torch 2.5.1+cpu in " in line
