"""What samerun puts in the place of a callable takes every call that the original takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from samerun.controls import build_environment
from samerun.runs.plan import Control, Plan
from samerun.runs.recorder_errors import explain_broken, read_complaints
from samerun.sources.catalogue import find_sources

SCRIPT = Path(__file__).with_name("replaced.py")
PLANTED = ("torch.load", "torch.get_rng_state")


def found(folder: Path, how: str, **plan) -> tuple[list[str], list[str], list[str]]:
    """(what is wrong, what is wrong with the planted, the names of all that was replaced)."""
    text = Plan(run=str(folder), **plan).to_json()
    command = [sys.executable, str(SCRIPT), str(folder), text, how]
    env = {**os.environ, **build_environment(plan.get("control"))}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert read_complaints(folder) == []
    assert explain_broken(folder) is None
    said = json.loads((folder / "found.json").read_text())
    planted = [each for each in said["found"] if each.startswith(PLANTED)]
    return [each for each in said["found"] if each not in planted], planted, said["names"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return found(tmp_path_factory.mktemp("recorded"), "compared", tier="ops")


def test_recording_gives_what_the_original_gives_in_every_form_of_call(recorded):
    wrong, _, names = recorded
    assert wrong == []
    assert len(names) > 80
    some = {"torch.autograd.grad", "torch.save", "random.shuffle", "time.time", "os.listdir", "numpy.empty"}
    assert some < set(names)


def test_a_wrapper_that_gets_it_wrong_is_found(recorded):
    _, planted, _ = recorded
    for said in ("names an argument", "past samerun.wrapping", "a wrong keyword", "by position"):
        assert any(each.startswith("torch.load") and said in each for each in planted), said
    assert any("get_rng_state: name is" in each for each in planted)


@pytest.mark.usefixtures("nothing_pinned")
def test_controls_and_variants_look_like_what_they_replace(tmp_path):
    known = [
        source for source in find_sources().values() if source.id != "contention"
    ]  # keeps the cores busy
    extra = tuple(source.id for source in known if source.controllable)
    first = {source.id: next(iter(source.variants({})), None) for source in known}
    vary = {id_: variant.value for id_, variant in first.items() if variant and variant.value is not None}
    wrong, _, names = found(tmp_path, "looked at", control=Control(extra=extra), vary=vary)
    assert wrong == []
    assert len(names) > 40
