"""What sources give is kept, and given again in its order; of the file is runs/test_answers.py.

Each test runs a program of its own: what is followed (forks, `os._exit`) is followed to the end of a process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from samerun.runs.answers import MOST, Answer, read_all_answers

BEGIN = """\
import itertools, json, os, sys, threading
from samerun import lineage
from samerun.answers import Answers
run, replayed, holds = sys.argv[1], sys.argv[2] or None, json.loads(sys.argv[3])
lineage.begin(run)
answers = Answers(run, replayed, lambda source: source in holds)
count = itertools.count(int(sys.argv[4]))
def ask(source="clock", name="time.time", site="train.py:1"):
    return answers.ask(source, name, lambda: next(count), site)
"""


def ran(run: Path, script: str, replayed: Path | None = None, holds: str = "clock", first: int = 0) -> Any:
    """What the program printed as JSON; real answers count on from `first`."""
    run.mkdir()
    words = [str(run), str(replayed or ""), json.dumps(holds.split()), str(first)]
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script, *words], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def said(run: Path, what: str) -> list[Answer]:
    return [answer for answer in read_all_answers(run) if answer.what == what]


ASKS = """
found = [ask(), ask(site="train.py:2"), ask(), ask("entropy"), ask(name="time.monotonic")]
answers.flush()
print(json.dumps(found))
"""


def test_what_was_kept_is_given_again_and_the_rest_is_real(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    assert ran(a, ASKS) == [0, 1, 2, 3, 4]
    assert [answer.value for answer in said(a, "kept")] == [0, 1, 2, 3, 4]
    assert not said(a, "given") and not said(a, "parted")
    assert ran(b, ASKS, a, first=100) == [0, 1, 2, 100, 4]
    assert [answer.source for answer in said(b, "given")] == ["clock"]
    assert not said(b, "parted")
    assert ran(c, ASKS, b, "clock entropy", first=200) == [0, 1, 2, 100, 4], "a replay can be replayed"


ASKS_WITHIN = """
def of_other():
    return [ask("entropy"), ask(), next(count)]  # the second is a part of the answer of its own source
print(json.dumps([answers.ask("clock", "uuid.uuid1", of_other, "train.py:1"), ask()]))
answers.flush()
"""


def test_what_a_source_asks_itself_is_a_part_of_its_answer(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    assert ran(a, ASKS_WITHIN) == [[0, 1, 2], 3]
    assert [(each.name, each.value) for each in said(a, "kept")] == [
        ("time.time", 0),
        ("uuid.uuid1", [0, 1, 2]),
        ("time.time", 3),
    ]
    assert ran(b, ASKS_WITHIN, a, first=100) == [[0, 1, 2], 3]
    assert ran(c, ASKS_WITHIN, a, "entropy", first=100) == [[0, 100, 101], 102]
    assert not said(b, "parted") and not said(c, "parted")


def test_another_order_of_lines_is_given_what_belongs_to_each_line(tmp_path: Path) -> None:
    ran(tmp_path / "a", ASKS)
    script = """
found = [ask(site="train.py:2"), ask(name="time.monotonic"), ask(), ask()]
answers.flush()
print(json.dumps(found))
"""
    assert ran(tmp_path / "b", script, tmp_path / "a", first=100) == [1, 4, 0, 2]


def test_who_asks_for_more_gets_the_real_answer_and_it_is_told_once_a_line(tmp_path: Path) -> None:
    ran(tmp_path / "a", ASKS)
    script = """
found = [ask() for _ in range(5)] + [ask(site="train.py:9") for _ in range(2)] + [ask("entropy")]
answers.flush()
print(json.dumps(found))
"""
    assert ran(tmp_path / "b", script, tmp_path / "a", first=100) == [0, 2, 100, 101, 102, 103, 104, 105]
    parted = said(tmp_path / "b", "parted")
    assert [(answer.source, answer.site) for answer in parted] == [
        ("clock", "train.py:1"),
        ("clock", "train.py:9"),
    ]
    assert all("not so often" in answer.value for answer in parted)


def test_what_an_answer_is_made_of_is_no_question_of_its_own(tmp_path: Path) -> None:
    script = """
def make():
    answers.part("entropy", "inner", "train.py:1", "a secret")
    return 7
found = answers.ask("clock", "outer", make, "train.py:1")
answers.part("entropy", "inner", "train.py:2", "a secret")
answers.flush()
print(json.dumps(found))
"""
    (tmp_path / "empty").mkdir()
    assert ran(tmp_path / "a", script, tmp_path / "empty", "clock entropy") == 7
    assert [(answer.name, answer.site) for answer in said(tmp_path / "a", "parted")] == [
        ("outer", "train.py:1"),
        ("inner", "train.py:2"),
    ]


def test_a_process_that_learns_its_place_late_keeps_what_it_had_and_is_known_by_it(tmp_path: Path) -> None:
    script = """
import multiprocessing.spawn as spawn
lineage.follow_multiprocessing(spawn)
found = [ask(), ask()]
data = spawn.get_preparation_data("child")
data.pop("init_main_from_name", None)
spawn.prepare(data)
found.append(ask())
answers.flush()
print(json.dumps(found))
"""
    assert ran(tmp_path / "a", script) == [0, 1, 2]
    kept = said(tmp_path / "a", "kept")
    assert [answer.value for answer in kept] == [0, 1, 2]
    assert kept[0].place == kept[1].place == () != kept[2].place
    assert ran(tmp_path / "b", script, tmp_path / "a", first=100) == [0, 1, 2]


BIG = """
sizes = [len(answers.ask("entropy", "os.urandom", lambda: bytes(1 << 20))) for _ in range(6)]
small = [ask() for _ in range(3)]
answers.flush()
print(json.dumps([sizes, small]))
"""


def test_after_4_mb_a_source_is_kept_no_more_and_a_replay_says_so(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    assert ran(a, BIG) == [[1 << 20] * 6, [0, 1, 2]]
    kept = said(a, "kept")
    assert [answer.source for answer in kept] == ["entropy"] * 3 + ["clock"] * 3
    (ended,) = said(a, "ended")
    assert (ended.source, ended.value) == ("entropy", "it gave more than 4 MB, and no more was kept")
    assert sum(path.stat().st_size for path in a.iterdir()) < MOST + 4096
    ran(b, BIG, a, "entropy clock")
    (parted,) = said(b, "parted")
    assert (parted.source, parted.value) == ("entropy", ended.value)


FORKS = """
before = ask()
reads = []
for number in range(2):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, json.dumps([ask(), ask(name="fork")]).encode())
        os._exit(0)
    os.wait()
    reads.append(json.loads(os.read(read, 1000)))
after = ask()
answers.flush()
print(json.dumps([before, *reads, after]))
"""


def test_forks_are_kept_apart_and_what_is_held_back_is_written_once(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    found = ran(a, FORKS)
    assert found == [0, [1, 2], [1, 2], 1], "the children begin with the parent's count"
    places = [(answer.place, answer.value) for answer in said(a, "kept")]
    one, other = sorted({place for place, _ in places if place})
    assert one != other
    assert sorted(places) == [((), 0), ((), 1), (one, 1), (one, 2), (other, 1), (other, 2)]
    assert ran(b, FORKS, a, first=100) == found
    assert [answer.place for answer in said(b, "given")].count(one) == 1
    assert not said(b, "parted")


def test_threads_lose_nothing_and_share_what_was_kept(tmp_path: Path) -> None:
    script = """
found = [[] for _ in range(8)]
def work(mine):
    for _ in range(300):
        mine.append(ask())
threads = [threading.Thread(target=work, args=(mine,)) for mine in found]
for thread in threads: thread.start()
for thread in threads: thread.join()
answers.flush()
print(json.dumps(sorted(sum(found, []))))
"""
    every = list(range(2400))
    assert ran(tmp_path / "a", script) == every
    assert sorted(answer.value for answer in said(tmp_path / "a", "kept")) == every
    assert ran(tmp_path / "b", script, tmp_path / "a", first=9000) == every
    assert not said(tmp_path / "b", "parted")


def test_what_comes_is_on_disk_soon_though_the_program_is_killed(tmp_path: Path) -> None:
    script = """
import time
for _ in range(600):
    ask()
time.sleep(0.1)
ask()
sys.stdout.write("null")
sys.stdout.flush()
os.kill(os.getpid(), 9)
"""
    run = tmp_path / "a"
    run.mkdir()
    words = [sys.executable, "-c", BEGIN + script, str(run), "", "[]", "0"]
    assert subprocess.run(words, stdout=subprocess.DEVNULL, timeout=60).returncode == -9
    assert [answer.value for answer in said(run, "kept")] == list(range(601))
