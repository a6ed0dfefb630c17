"""Which sources a run used that nothing controlled, and which of them may go another way in any run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from samerun.comparing.in_play import list_free_running, list_in_play
from samerun.comparing.pairing import RecordedRun, read
from samerun.runs.plan import Control

from .build import Builder, Record, record, training


def recorded(
    folder: Path,
    *rows: Record,
    control: Control | None = None,
    in_order: bool = True,
    hash_seed: str | None = None,
) -> RecordedRun:
    settings = {
        "worker-arrival": {"in_order": in_order},
        "code": {path.name: "" for path in folder.glob("*.py")},
        "hash-seed": {"PYTHONHASHSEED": hash_seed},
    }
    plan = {"control": control and dataclasses.asdict(control)}
    made = read(Builder(folder)([*rows, *training()], plan=plan))
    manifest = dataclasses.replace(made.run.manifest, cwd=str(folder), settings=settings)
    manifest.write(made.run.path)
    del made.run.__dict__["manifest"]
    return made


def clock(line: int, name: str = "time.time") -> Record:
    return record(0, "setup", "clock", name, call_site=f"train.py:{line}")


def list_ids(run: RecordedRun) -> list[str]:
    return [use.source for use in list_in_play(run)]


THREADS = record(0, "setup", "threads", "start", call_site="train.py:1")


def test_nothing_is_in_play_where_nothing_was_used(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    assert (list_ids(run), list_free_running(run)) == ([], [])


def test_threads_run_free(tmp_path: Path) -> None:
    run = recorded(tmp_path, THREADS)
    assert (list_ids(run), list_free_running(run)) == (["thread-scheduling"], ["thread-scheduling"])


def test_batches_that_come_as_they_are_ready_run_free_unless_controlled(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    run = recorded(tmp_path / "a", in_order=False)
    assert (list_ids(run), list_free_running(run)) == (["worker-arrival"], ["worker-arrival"])
    assert list_ids(recorded(tmp_path / "b", in_order=False, control=Control())) == []


SCRIPT = """\
import time; start = time.time()
now = time.time()
print(time.time() - start)
while time.time() < limit: train()
if now - begun > 10: evaluate()
if loss < best: print(time.time() - start)
took = time.time() - start
def is_over(): return time.monotonic() - start > 10
for way in ways: times[way] = time.perf_counter() - start
fastest = min(times, key=times.get)
for way in ways: spent.append(time.perf_counter() - start)
print(sum(spent) / len(spent))
"""


@pytest.mark.parametrize(
    ("line", "decides"),
    [(2, True), (3, False), (4, True), (6, False), (7, False), (8, True), (9, True), (11, False)],
)
def test_a_clock_runs_free_where_a_branch_compares_it(tmp_path: Path, line: int, decides: bool) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    run = recorded(tmp_path, clock(line))
    assert list_ids(run) == ["clock"]
    assert list_free_running(run) == (["clock"] if decides else [])


def test_a_clock_that_a_library_reads_is_not_in_play(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\nfor x in tqdm(data): train(x)\nprint(time.time())\n")
    assert list_ids(recorded(tmp_path, clock(2))) == []


def test_a_clock_that_the_script_reads_as_well_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\nfor x in tqdm(data): train(x)\nprint(time.time())\n")
    assert list_ids(recorded(tmp_path, clock(2), clock(3))) == ["clock"]


def test_a_timer_runs_free(tmp_path: Path) -> None:
    assert list_free_running(recorded(tmp_path, clock(1, "signal.setitimer"))) == ["clock"]


def test_a_clock_of_code_that_is_gone_is_in_play_alone(tmp_path: Path) -> None:
    run = recorded(tmp_path, clock(4))
    assert (list_ids(run), list_free_running(run)) == (["clock"], [])


@pytest.mark.parametrize(
    ("text", "is_in_play"),
    [
        ("for name in {name for name in names if name}: heads.append(make(name))\n", True),
        ("from tasks import Task\nchosen = [task for task in set(Task)]\n", True),
        ("order = sorted({name for name in names})\n", False),
        ("known = set(names)\nkept = [name for name in names if name in known]\n", False),
    ],
)
def test_hashes_run_free_where_the_code_goes_through_a_set(
    tmp_path: Path, text: str, is_in_play: bool
) -> None:
    """Two runs of a set of two texts agree every other time."""
    (tmp_path / "train.py").write_text(text)
    expected = ["hash-seed"] if is_in_play else []
    run = recorded(tmp_path)
    assert (list_ids(run), list_free_running(run)) == (expected, expected)
    (tmp_path / "fixed").mkdir()
    (tmp_path / "fixed" / "train.py").write_text(text)
    assert list_ids(recorded(tmp_path / "fixed", hash_seed="0")) == []


CHOOSES = """\
import random, numpy as np
hidden = random.choice([16, 32])
rng = np.random.default_rng()
warm = rng.random() < 0.3
import rich
chosen = random.Random().choice([1, 2])
"""


def draw(name: str, function: str, line: int) -> Record:
    detail = json.dumps({"function": function})
    return record(0, "setup", "draw", name, call_site=f"train.py:{line}", detail=detail)


CHOICE, WARM = draw("python-random", "random.choice", 2), draw("numpy-generator", "numpy.random.random", 4)
UNSEEDED = record(0, "setup", "unseeded", "numpy-generator", call_site="train.py:3")
ALONE = record(0, "setup", "unseeded", "os-entropy", call_site="train.py:6")
SEED = record(0, "setup", "seed", "random.seed", call_site="train.py:1")


@pytest.mark.parametrize(
    ("rows", "ids"),
    [
        ([CHOICE], ["python-random"]),
        ([CHOICE, SEED], ["python-random"]),
        ([SEED, CHOICE], []),
        ([UNSEEDED, WARM], ["numpy-generator"]),
        ([ALONE, draw("python-random:generator", "random.Random.choice", 6)], ["os-entropy"]),
        ([ALONE], []),  # it is not drawn from
        ([UNSEEDED, draw("numpy-global:generator", "numpy.random.RandomState.rand", 4)], ["numpy-generator"]),
        ([WARM], []),  # another generator, which was made with a seed
        ([draw("python-random", "random.random", 5)], []),  # by what the line imports
    ],
)
def test_numbers_of_unseeded_generators_run_free_where_the_code_draws_them(
    tmp_path: Path, rows: list[Record], ids: list[str]
) -> None:
    """`random.choice([16, 32])` is the same in every other pair of runs."""
    (tmp_path / "train.py").write_text(CHOOSES)
    run = recorded(tmp_path, *rows)
    assert (list_ids(run), list_free_running(run)) == (ids, ids)
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "train.py").write_text(CHOOSES)
    assert list_ids(recorded(tmp_path / "held", *rows, control=Control())) == []
