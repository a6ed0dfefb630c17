"""library-generators: polars and DuckDB, seeded where the script does not, and what is said of draws."""

from __future__ import annotations

import json

import duckdb
import polars
import pytest

from samerun.runs.plan import Control
from samerun.sources.catalogue import find_sources

from .differences import batch, operation, origin, row, side
from .mending import Program

source = find_sources()["library-generators"]
FRAME = polars.DataFrame({"x": range(100)})


def ask(statement):
    return duckdb.connect().execute(statement).fetchall()


DRAWS = {
    "frame": lambda: FRAME.sample(20)["x"].to_list(),
    "series": lambda: FRAME["x"].shuffle().to_list(),
    "expression": lambda: FRAME.select(polars.col("x").shuffle())["x"].to_list(),
    "random": lambda: ask("select random() from range(9)"),
    "sample": lambda: ask("select * from range(100) t(i) using sample reservoir(9 rows)"),
    "relation": lambda: duckdb.connect().sql("select * from range(100) t(i) order by random()").fetchall(),
    "module": lambda: duckdb.sql("select random() from range(9)").fetchall(),
}


def controlled(seed, draw):
    undo = source.control(Control(seed=seed))
    try:
        return [draw() for _ in range(3)]
    finally:
        undo()


@pytest.mark.parametrize("name", DRAWS)
def test_draws_repeat_under_control_and_no_two_are_alike(name):
    first, again, other = (controlled(seed, DRAWS[name]) for seed in (3, 3, 4))
    assert first == again
    drawn = [str(each) for each in (*first, *other, DRAWS[name](), DRAWS[name]())]
    assert len(set(drawn)) == 8  # and the control is over


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_without_a_seed_is_noted(observed, name):
    notes = observed(source)
    DRAWS[name]()
    found = notes.of("unseeded", source.id)
    assert found
    assert all(note.call_site.startswith("tests/sources/test_library_generators.py:") for note in found)


def test_what_the_script_seeds_stays_and_is_not_noted(observed):
    def seeded():
        base = duckdb.connect()
        base.execute("select setseed(0.25)")
        polars.set_random_seed(5)
        return base.execute("select random()").fetchall(), FRAME.sample(5)["x"].to_list()

    def by_the_call():
        return FRAME.sample(5, seed=1)["x"].to_list(), FRAME["x"].shuffle(1).to_list()

    plain = seeded(), by_the_call()
    assert controlled(7, lambda: (seeded(), by_the_call())) == [plain] * 3
    notes = observed(source)
    assert (seeded(), by_the_call()) == plain
    duckdb.connect().execute("select 1")
    assert notes.rows == []


def test_what_draws_is_the_reason_unless_an_operation_made_it():
    drew = side(row("unseeded", source.id, call_site="train.py:4"))
    found = source.recognise(batch(a=drew, b=side()))
    assert (found.strength, found.call_site) == (0.7, "train.py:4")
    assert source.recognise(batch(a=side(), b=side())) is None
    kernel = operation(origin=origin(draws=False), a=drew, b=side())
    assert source.recognise(kernel) is None


def test_polars_gets_a_seed_and_duckdb_advice(tmp_path):
    program = Program(tmp_path, "import polars as pl\nimport torch\n\nframe = pl.read_csv('a').sample(9)\n")
    assert program.mended(source.id) == "+pl.set_random_seed(0)"


def test_a_connection_is_as_the_script_left_it():
    """Its first statement that draws comes while it has a transaction, a table of its own, or is closed."""

    def use():
        base = duckdb.connect()
        base.execute("begin")
        base.execute("create temporary table t as select * from range(9) r(i)")
        drawn = base.sql("select i from t order by random()").fetchall()
        again = base.execute("select i from t using sample 3 rows").fetchmany(2)
        base.execute("rollback")
        base.close()
        with pytest.raises(duckdb.Error):
            base.execute("select random()")
        return drawn, again

    first, second, third = controlled(1, use)
    assert sorted(first[0]) == sorted(second[0]) == [(n,) for n in range(9)]
    assert len({str(each) for each in (first, second, third)}) == 3
    assert controlled(1, use) == [first, second, third]


FORKS = """
import json, os, duckdb, polars
BEFORE
for member in range(2):
    reads, writes = os.pipe()
    if not os.fork():
        drawn = polars.int_range(1000, eager=True).sample(5).to_list()
        asked = duckdb.connect().execute("select random()").fetchall()
        os.write(writes, json.dumps([drawn, asked]).encode())
        os._exit(0)
    os.wait()
    print(os.read(reads, 1000).decode())
"""


@pytest.mark.parametrize(
    ("before", "alike"),
    [
        ("pass", False),
        ("shuffled = polars.col('x').shuffle()", False),  # nothing is drawn yet
        ("polars.set_random_seed(5)", True),  # as ranks that each take a part of one order
    ],
)
def test_forks_draw_as_they_would_without_control(trainer, before, alike):
    trainer.script(FORKS.replace("BEFORE", before))
    runs = [trainer.record("train.py", control=Control(), tier="none") for _ in range(2)]
    one, other = (run.path.joinpath("output.txt").read_text().splitlines() for run in runs)
    assert one == other
    (frame, asked), (other_frame, other_asked) = map(json.loads, one)
    assert (frame == other_frame) is alike
    assert asked != other_asked


STARTS = """\
import polars as pl
import torch
from concurrent.futures import ProcessPoolExecutor

def draw(number):
    return pl.read_csv("a").sample(9)

if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        frames = list(pool.map(draw, range(4)))
"""


def test_a_patch_makes_no_processes_draw_alike(tmp_path):
    """Each of those that are spawned would run the line."""
    assert "would all draw the same" in Program(tmp_path, STARTS).refused(source.id)
