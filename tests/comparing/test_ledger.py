from __future__ import annotations

from samerun.comparing.ledger import Drawn, ledger
from samerun.runs.schema import DRAWS

from .build import Builder, Record, d, operation, record


def draw(site: str, value: str, generator: str = "python-random", step: int = 3) -> Record:
    return record(step, "data", "draw", generator, call_site=site, digest=d(value), detail="random")


def state(generator: str, value: str, step: int = 3) -> Record:
    return record(step, "data", "rng", generator, digest=d(value))


def test_one_more_draw_is_told_by_generator_line_and_step(build: Builder) -> None:
    start = [state("python-random", "s"), draw("a.py:1", "x")]
    found = ledger(
        build([*start, draw("augment.py:31", "y")]),
        build([*start, draw("augment.py:31", "y"), draw("augment.py:31", "z")]),
    )
    more = Drawn("python-random", 3, "rank0", "augment.py:31", "random", 1, 2, False, True)
    assert found[0] == more
    assert (found[1].draws_a, found[1].draws_b, found[1].values_differ) == (1, 1, False)


def test_equal_draws_do_not_differ(build: Builder) -> None:
    rows = [state("python-random", "s"), draw("a.py:1", "x")]
    assert [row.values_differ for row in ledger(build(list(rows)), build(list(rows)))] == [False]


def test_draws_of_torch_are_those_of_the_generator_written_last(build: Builder) -> None:
    def rows(own: str) -> list[Record]:
        return [
            state("torch-cpu", "s", 0),
            operation(0, "aten.bernoulli_.float", "m", flags=DRAWS),
            state("torch-cpu:generator", own, 0),
            operation(0, "aten.randperm.generator", own, flags=DRAWS, call_site="b.py:2"),
            operation(0, "aten.mm.default", "n"),
            operation(0, "aten.normal_.default", "n", flags=DRAWS, call_site="c.py:3"),
        ]

    found = ledger(build(rows("p")), build(rows("q")))
    assert [(row.generator, row.function, row.state_differs, row.values_differ) for row in found] == [
        ("torch-cpu:generator", "aten.randperm.generator", True, True),
        ("torch-cpu", "aten.bernoulli_.float", False, False),
        ("torch-cpu", "aten.normal_.default", False, False),
    ]


def test_workers_have_a_ledger_of_their_own_and_other_ranks_are_left_out(build: Builder) -> None:
    def traces(value: str) -> dict[str, list[Record]]:
        return {"rank0.worker1": [draw("d.py:4", value)], "rank1": [draw("d.py:4", "other rank")]}

    found = ledger(build([], traces=traces("x")), build([], traces=traces("y")))
    assert [(row.process, row.values_differ) for row in found] == [("rank0.worker1", True)]
