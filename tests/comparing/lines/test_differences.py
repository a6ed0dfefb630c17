"""Where values differ between two runs, and where that began (`reading.py`, `origins.py`)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from followed import compare, follow

from samerun.comparing.lines.differences import Node
from samerun.comparing.lines.origins import find_beginnings, find_origins
from samerun.comparing.lines.reading import read_processes
from samerun.runs.difference import Difference, Kind


def list_origins(nodes: list[Node], line: int | None = None, kind: Kind = "value") -> list[int]:
    site = None if line is None else f"train.py:{line}"
    difference = Difference(0, "forward", "loss", kind=kind, call_site=site)
    return [node.place.line for node in find_origins(nodes, difference)]


def test_a_value_is_followed_through_calls_attributes_and_lists_to_where_it_began(tmp_path: Path) -> None:
    nodes = compare(
        tmp_path,
        """\
        import os, time
        class Config:
            def __init__(self):
                self.sizes = []
        def read():
            return int(os.environ["UNEQUAL"])
        def fill(config):
            config.sizes.append(read() * 1000)
        started = time.perf_counter()
        config = Config()
        fill(config)
        took = time.perf_counter() - started
        print("made in", took)
        loss = config.sizes[0] / 2
        """,
    )
    assert list_origins(nodes, 14) == [6]
    assert list_origins(nodes, 13) == [9]  # what is printed comes from the clock


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    "goes_through",
    [
        "{name: at for at, name in enumerate(self.names)}",
        "[name + '!' for name in self.names]",
        "min(name for name in self.names)",
    ],
)
def test_what_a_comprehension_goes_through_comes_from_what_its_statement_reads(
    goes_through: str, tmp_path: Path
) -> None:
    nodes = compare(
        tmp_path,
        f"""\
        import os
        class Vocabulary:
            def __init__(self, names):
                self.names = list(names)
                self.index = {goes_through}
        vocabulary = Vocabulary([os.environ["UNEQUAL"], "x"])
        loss = str(vocabulary.index)
        """,
    )
    assert list_origins(nodes, 7) == [6]
    assert [node.place.line for node in nodes if node.begins] == [6]


def test_equal_runs_differ_nowhere(tmp_path: Path) -> None:
    text = "x = [1, 2]\ny = sum(x)\nz = {'y': y}\n"
    assert compare(tmp_path, text) == []


def test_where_runs_branch_what_decided_it_is_where_that_began(tmp_path: Path) -> None:
    nodes = compare(
        tmp_path,
        """\
        import os
        def go_on(step):
            return step < int(os.environ["UNEQUAL"])
        step = 0
        while go_on(step):
            step += 1
        loss = 1.0
        """,
    )
    assert list_origins(nodes, 7, "flow") == [3]


def test_a_generator_that_was_seeded_unequally_leads_to_the_seed(tmp_path: Path) -> None:
    nodes = compare(
        tmp_path,
        """\
        import os, random
        def seed_all(seed):
            random.seed(seed)
        mine = random.Random(0)
        seed_all(int(os.environ["UNEQUAL"]))
        noise = mine.random()
        loss = random.random()
        """,
    )
    assert list_origins(nodes, 7) == [5]
    assert list_origins(nodes, 6) == [5]  # that line differs nowhere, so the first data that does is followed


def test_a_generator_that_nobody_seeded_is_where_that_begins(tmp_path: Path) -> None:
    nodes = compare(tmp_path, "import random\nx = 1\nloss = random.random() + x\n")
    (node,) = find_origins(nodes, Difference(0, "forward", "loss", call_site="train.py:3"))
    assert (node.place.line, node.unseeded) == (3, ("python-random",))


def test_a_function_that_seeds_before_it_draws_begins_no_difference(tmp_path: Path) -> None:
    """Its generator differs before the call, since nobody had seeded it, and no longer after it."""
    nodes = compare(
        tmp_path,
        """\
        import os, random
        def pretrain():
            random.seed(5)
            return random.random()
        start = pretrain()
        name = os.environ["UNEQUAL"]
        loss = int(name) * start + random.random()
        """,
    )
    assert list_origins(nodes, 7) == [6]
    assert 5 not in [node.place.line for node in nodes]


def test_a_value_that_came_through_a_pipe_leads_into_the_other_process(tmp_path: Path) -> None:
    nodes = compare(
        tmp_path,
        """\
        import os
        mine, theirs = os.pipe()
        child = os.fork()
        if not child:
            number = 5000 + int(os.environ["UNEQUAL"])
            os.write(theirs, str(number).encode())
            os._exit(0)
        os.waitpid(child, 0)
        got = int(os.read(mine, 10))
        loss = got * 2
        """,
    )
    assert list_origins(nodes, 10) == [5]


def test_nothing_is_followed_where_nothing_differs_at_the_difference(tmp_path: Path) -> None:
    nodes = compare(tmp_path, "import time\nt = time.time_ns()\nloss = 1.0\n")
    assert list_origins(nodes, 3) == []


def test_a_process_that_was_ended_in_the_midst_is_read_to_there(tmp_path: Path) -> None:
    follow(tmp_path, "def f(x):\n    y = x\n    return y\nz = f(1)\n")
    (file,) = (tmp_path / "run ").glob("lines.*")
    whole = file.read_bytes()
    for end in range(0, len(whole), 7):
        file.write_bytes(whole[:end])
        assert len(read_processes(file.parent)) == 1


def test_what_is_no_such_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "lines.1").write_bytes(b"\x02\0\0\0\xc1\xc1")
    with pytest.raises(msgspec.MsgspecError):
        read_processes(tmp_path)


def test_a_generator_that_may_have_been_drawn_from_unseen_does_not_begin_to_differ(tmp_path: Path) -> None:
    """2,000 times a statement is looked at, and no more."""
    nodes = compare(
        tmp_path,
        """\
        import os, random
        random.seed(0)
        unequal = int(os.environ["UNEQUAL"])
        for turn in range(2100):
            drawn = random.sample(range(9), 1 if turn < 2050 else unequal)
        late = random.random()
        """,
    )
    (last,) = [node for node in nodes if node.place.line == 6]
    assert [item.name for item in last.made if item.name == "late"] == ["late"]
    assert not last.unseeded and not last.begins


def test_what_begins_to_differ_is_listed_wherever_it_leads(tmp_path: Path) -> None:
    nodes = compare(
        tmp_path,
        """\
        import os
        class Rate:
            def __init__(self):
                self.unequal = int(os.environ["UNEQUAL"])
            def __call__(self):
                return self.unequal
        rate = Rate()
        equal = 5
        """,
    )
    assert list_origins(nodes, 8) == []
    assert [node.place.line for node in find_beginnings(nodes)] == [4]
