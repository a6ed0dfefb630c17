"""Following a script: every call and statement of its own code, in all its threads and processes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from followed import follow

from samerun.comparing.lines.reading import Did, Frame, Process
from samerun.recording.lines.follow import _is_imported


def walk(frames: list[Frame]) -> Iterator[Did]:
    for frame in frames:
        for did in frame.did:
            yield from walk(did.calls)
            yield did


def did_at(process: Process, line: int) -> list[Did]:
    return [did for did in walk(process.roots) if did.place.line == line]


def test_a_statement_has_what_was_there_before_it_and_after_it(tmp_path: Path) -> None:
    (process,) = follow(
        tmp_path,
        """\
        import random
        def double(x):
            x += x
            return x
        class Config: pass
        config = Config()
        config.size = 3
        for n in range(2):
            y = double(config.size + n)
        random.seed(1)
        z = random.random()
        """,
    )
    (assigned,) = did_at(process, 7)
    assert assigned.place.writes == ("config.size", "config")
    assert assigned.after is not None
    assert assigned.after[0] == 3
    calls = did_at(process, 9)
    assert [did.before for did in calls] == [[None, 3, 0], [None, 3, 1]]  # a function is nothing to tell
    assert [did.after and did.after[-1] for did in calls] == [6, 8]
    assert [[frame.given for frame in did.calls] for did in calls] == [[[3]], [[4]]]
    assert [did.returned for did in did_at(process, 4)] == [6, 8]
    assert [call.name for call in calls[0].place.calls] == ["__main__.double"]
    (drew,) = did_at(process, 11)
    assert drew.place.calls[0].name == "random.random"
    assert set(drew.drawn) == {"python-random"}
    assert not assigned.drawn


def test_calls_that_samerun_makes_for_a_line_are_no_calls_of_its_own(tmp_path: Path) -> None:
    (process,) = follow(
        tmp_path,
        """\
        import random
        from samerun.wrapping import call_as_caller
        draw = call_as_caller(random.Random(1).random)
        x = draw()
        """,
    )
    (drew,) = did_at(process, 4)
    assert drew.calls == []


def test_forks_threads_and_what_leaves_by_exit_are_followed(tmp_path: Path) -> None:
    processes = follow(
        tmp_path,
        """\
        import os, threading
        def work(n):
            m = n + 1
            return m
        thread = threading.Thread(target=work, args=(5,))
        thread.start()
        thread.join()
        child = os.fork()
        if not child:
            work(7)
            os._exit(0)
        os.waitpid(child, 0)
        """,
    )
    parent, child = sorted(processes, key=lambda process: len(process.place))
    assert (parent.place, child.place) == ((), ("fork", "0"))
    assert [did.after for did in did_at(parent, 3)] == [[5, 6]]
    assert [did.after for did in did_at(child, 3)] == [[7, 8]]


def test_what_another_thread_draws_meanwhile_is_not_drawn_by_a_statement(tmp_path: Path) -> None:
    (process,) = follow(
        tmp_path,
        """\
        import random, threading
        drawn, waited = threading.Event(), threading.Event()
        def wait():
            waited.set()
            drawn.wait()
            x = random.random()
        thread = threading.Thread(target=wait)
        thread.start()
        waited.wait()
        y = random.random()
        drawn.set()
        thread.join()
        """,
    )
    assert [did_at(process, line)[0].drawn for line in (5, 12)] == [None, None]
    assert [set(did_at(process, line)[0].drawn or ()) for line in (6, 10)] == [{"python-random"}] * 2


def test_a_loop_of_many_turns_is_followed_in_part_and_all_of_it_runs(tmp_path: Path) -> None:
    (process,) = follow(
        tmp_path, "x = 0\nfor i in range(5000):\n    x += i\nopen('sum', 'w').write(str(x))\n"
    )
    found = [did for did in did_at(process, 3) if did.after is not None]
    assert 1000 < len(found) < 5000
    assert (tmp_path / "sum").read_text() == str(sum(range(5000)))


def test_a_statement_that_takes_long_to_look_at_is_looked_at_a_few_times(tmp_path: Path) -> None:
    (process,) = follow(
        tmp_path,
        """\
        long = [str(n) for n in range(4000)]
        for n in range(2000):
            x = long[n]
            y = str(n)
        """,
    )
    read, others = did_at(process, 3), did_at(process, 4)
    assert len(read) == len(others) == 2000
    looked = [did for did in read if did.before is not None]
    assert 16 <= len(looked) < 2000 and looked == read[: len(looked)]
    assert all(did.before is not None for did in others)
    assert all(did.drawn == {} for did in read)


def test_what_it_writes_is_for_its_user_alone(tmp_path: Path) -> None:
    follow(tmp_path, "secret = 1\n")
    (file,) = (tmp_path / "run ").glob("lines.*")
    assert file.stat().st_mode & 0o777 == 0o600
    assert os.path.getsize(file) > 0


def test_an_error_of_ours_is_none_of_the_scripts(tmp_path: Path) -> None:
    follow(
        tmp_path,
        """\
        from samerun.recording.lines.values import Values
        def fail(self, value):
            raise AttributeError("partially initialized module")
        Values.summarise = fail
        def double(x):
            return 2 * x
        y = double(4)
        open("done", "w").write(str(y))
        """,
    )
    assert (tmp_path / "done").read_text() == "8"


def test_a_generator_is_read_once_its_module_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a module imports may call the user's code while it is half there."""
    (tmp_path / "half_module.py").write_text("import its_part\n")
    (tmp_path / "its_part.py").write_text(
        "from samerun.recording.lines.follow import _is_imported\nwhole = _is_imported('half_module')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert not _is_imported("half_module")
    importlib.import_module("half_module")
    assert sys.modules["its_part"].whole is False
    assert _is_imported("half_module")
