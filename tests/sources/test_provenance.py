"""code, arguments, packages, hardware and environment: the runs are not of the same thing.

Covers `arguments.py`, `code.py`, `environment.py`, `hardware.py` and `packages.py`.
"""

import sys

import pytest
import torch

from samerun.sources.catalogue import find_sources
from samerun.sources.evidence.settings_diff import is_alike

from .differences import batch, side

PROVENANCE = ["arguments", "code", "environment", "hardware", "packages"]


def recognise(id_, a, b):
    found = find_sources()[id_].recognise(batch(a=a, b=b))
    return found and (found.strength, found.text)


def test_a_run_that_says_nothing_is_no_difference_and_a_source_that_was_not_in_play_is():
    said = side(settings={"threads": {"intra": 2}, "hash-seed": {"PYTHONHASHSEED": "1"}})
    assert recognise("threads", said, side(settings={})) is None
    other = side(settings={"hash-seed": {"PYTHONHASHSEED": "1"}})
    assert recognise("threads", said, other)[1] == "intra: 2 and unset"
    assert not is_alike(batch(a=said, b=side(settings={})))


@pytest.mark.parametrize(
    ("id_", "a", "b", "text"),
    [
        (
            "arguments",
            side(command=["python", "train.py", "--lr", "1"]),
            side(command=["python", "train.py", "--lr", "2"]),
            "only run A's command has 1, only run B's has 2",
        ),
        (
            "code",
            side(settings={"code": {"train.py": "00", "model.py": "01"}}),
            side(settings={"code": {"train.py": "00", "model.py": "02"}}),
            "model.py changed between the runs",
        ),
        (
            "code",
            side(git={"commit": "aaa", "dirty": False}),
            side(git={"commit": "bbb", "dirty": False}),
            "the repository changed: commit: aaa and bbb",
        ),
        (
            "environment",
            side(environment={"OMP_SCHEDULE": "static"}),
            side(environment={}),
            "OMP_SCHEDULE: static and unset",
        ),
        (
            "hardware",
            side(settings={"hardware": {"processor": "EPYC", "cpus": 2}}),
            side(settings={"hardware": {"processor": "Xeon", "cpus": 4}}),
            "processor: EPYC and Xeon",
        ),
        ("hardware", side(platform="Linux"), side(platform="Darwin"), "Linux and Darwin"),
        (
            "packages",
            side(settings={"packages": {"torch": "2.13.0", "extra": "1"}}),
            side(settings={"packages": {"torch": "2.11.0"}}),
            "torch: 2.13.0 and 2.11.0",
        ),
        (
            "packages",
            side(python="3.11.7", packages={"torch": "2.13.0"}),
            side(python="3.12.1", packages={"torch": "2.13.0"}),
            "python: 3.11.7 and 3.12.1",
        ),
    ],
)
def test_what_differs_is_named(id_, a, b, text):
    assert recognise(id_, a, b) == (0.7, text)
    assert recognise(id_, a, a) is None
    assert recognise(id_, b, b) is None


def test_versions_that_a_run_without_a_step_does_not_know_are_no_others():
    a, b = side(settings={"packages": {"python": "3.11.7", "torch": "2.13.0"}}), side(python=None)
    assert recognise("packages", a, b) is None
    assert recognise("packages", b, a) is None


def test_sources_of_their_own_are_left_to_them():
    a, b = (side(environment={"PYTHONHASHSEED": value, "OMP_NUM_THREADS": value}) for value in "12")
    assert recognise("environment", a, b) is None


def test_another_commit_of_the_same_files_is_the_same_code():
    files = {"code": {"train.py": "00"}}
    a, b = (side(settings=files, git={"commit": commit}) for commit in "ab")
    assert recognise("code", a, b) is None


def test_files_of_other_names_are_other_code():
    a, b = (side(settings={"code": {name: "00"}}) for name in ("main.py", "train.py"))
    assert recognise("code", a, b) == (0.7, "run A is of main.py, run B of train.py")


def advised(a, b, files=("00", "01"), **more):
    a, b = (
        side(git=git, settings={"code": {"my train.py": file, **more}})
        for git, file in zip((a, b), files, strict=True)
    )
    found = find_sources()["code"].recognise(batch(a=a, b=b))
    assert found.of_other_program
    return found.advice


def test_the_fix_is_the_command_that_shows_the_change_between_two_commits():
    one, two = ({"commit": digit * 40, "dirty": False} for digit in "12")
    assert advised(one, two) == "git diff 1111111111 2222222222 -- 'my train.py'"
    many = side(git=one, settings={"code": {f"package/module{n}.py": "00" for n in range(9)}})
    other = side(git=two, settings={"code": {f"package/module{n}.py": "01" for n in range(9)}})
    found = find_sources()["code"].recognise(batch(a=many, b=other))
    assert found.advice == "git diff 1111111111 2222222222"


@pytest.mark.parametrize(
    "other",
    [
        {"commit": "1" * 40, "dirty": False},
        {"commit": "2" * 40, "dirty": True},
        {"commit": None, "dirty": True, "diff": None},
        {"commit": "--output=x", "dirty": False},
        None,
    ],
)
def test_without_two_commits_the_fix_is_general(other):
    assert advised({"commit": "1" * 40, "dirty": False}, other) is None
    assert advised(other, {"commit": "1" * 40, "dirty": False}) is None


@pytest.mark.parametrize("id_", PROVENANCE)
def test_nothing_known_is_nothing_said(id_):
    assert recognise(id_, side(), side()) is None


def test_describes_this_process(monkeypatch):
    said = {id_: find_sources()[id_].describe() for id_ in PROVENANCE}
    assert said["packages"]["torch"] == torch.__version__
    assert said["packages"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert said["hardware"]["capability"] == torch.backends.cpu.get_cpu_capability()
    assert len(said["code"]["tests/sources/test_provenance.py"]) == 32
    assert not any("site-packages" in path for path in said["code"])


def test_environment_keeps_no_secret(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("OMP_SCHEDULE", "static")
    said = find_sources()["environment"].describe()
    assert said["OMP_SCHEDULE"] == "static" and "HF_TOKEN" not in said
