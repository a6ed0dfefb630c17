"""What helping programs, and the files that they make, are called in both runs."""

from __future__ import annotations

from typing import Any

import pytest

from samerun.comparing.helper_programs import align
from samerun.runs.difference import Row, Side


def row(what: str, detail: str | None = None, process: str = "rank0", **more: Any) -> Row:
    return Row(0, "setup", what, detail=detail, process=process, **more)


def paths(side: Side) -> list[str | None]:
    return [item.detail for item in side.evidence]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/tmp/rows-cvqbxzum/rows.json", "/tmp/rows-9_x2zzqa/rows.json"),
        ("/tmp/tmp.Zx8Yw2Qk1P/rows.json", "/tmp/tmp.aB3dE5fG7h/rows.json"),
        ("out/20261126-074600/a.npy", "out/20261126-074713/a.npy"),
        (
            "out/1b4e28ba-2fa1-11d2-883f-0016d3cca427/a",
            "out/6fa459ea-ee8a-3ca4-894e-db77e160355e/a",
        ),
        ("shards_1732607160.bin", "shards_1732607191.bin"),
    ],
)
def test_a_file_whose_path_is_new_in_each_run_is_the_same_one(one: str, other: str) -> None:
    a, b = (Side(evidence=(row("written", path), row("opened", path))) for path in (one, other))
    assert paths(align(a, b)) == [one, one]
    # A file that was there before is another one: a shard that was chosen, say.
    a, b = (Side(evidence=(row("opened", path),)) for path in (one, other))
    assert paths(align(a, b)) == [other]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (["train.csv"], ["valid.csv"]),
        (["out/run1/a.npy"], ["out/run2/a.npy"]),  # a folder for each run, and not by chance
        (["/tmp/tmpabcd1234/a", "/tmp/tmpefgh5678/a"], ["/tmp/tmpijkl1234/a"]),  # which of them?
        (["/tmp/tmpabcd1234/a"], ["/tmp/tmpabcd1234/a", "/tmp/tmpijkl1234/a"]),  # one is there itself
    ],
)
def test_other_files_are_others(ours: list[str], theirs: list[str]) -> None:
    a, b = (Side(evidence=tuple(row("written", path) for path in some)) for some in (ours, theirs))
    assert paths(align(a, b)) == theirs


def test_what_is_no_path_stays() -> None:
    a = Side(evidence=(row("written", "/tmp/tmpabcd1234/a"), row("state", "tmpabcd1234")))
    b = Side(evidence=(row("written", "/tmp/tmpijkl5678/a"), row("state", "/tmp/tmpijkl5678/a")))
    assert paths(align(a, b)) == ["/tmp/tmpabcd1234/a", "/tmp/tmpijkl5678/a"]


def of_programs(**programs: tuple[str, ...]) -> Side:
    evidence = tuple(row("clock", process=f"rank0.helper-{name}") for name in programs)
    return Side(evidence=evidence, programs={f"rank0.helper-{name}": argv for name, argv in programs.items()})


def test_a_program_is_the_same_by_its_script() -> None:
    a = of_programs(a1=("python", "prepare.py", "--seed", "1"), c=("python", "-m", "stats", "5"))
    b = of_programs(b1=("python", "prepare.py", "--seed", "2"), d=("python", "-m", "stats", "6"))
    found = align(a, b)
    assert [item.process for item in found.evidence] == ["rank0.helper-a1", "rank0.helper-c"]
    assert found.programs["rank0.helper-a1"] == ("python", "prepare.py", "--seed", "2")


@pytest.mark.parametrize(
    "b",
    [
        of_programs(b1=("python", "other.py", "--seed", "2")),
        of_programs(b1=("python", "-m", "prepare.py")),
        of_programs(b1=("python", "prepare.py", "2"), b2=("python", "prepare.py", "3")),
    ],
)
def test_another_program_and_several_of_one_script_are_left_as_they_are(b: Side) -> None:
    a = of_programs(a1=("python", "prepare.py", "--seed", "1"))
    assert align(a, b) is b
