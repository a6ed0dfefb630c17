from __future__ import annotations

import json
from typing import Any

import pytest

from samerun.comparing.draw_ledger import DrawCount, build_ledger
from samerun.runs.schema import DRAWS

from .build import Builder, Record, d, operation, record

OPS: dict[str, Any] = {"tier": "ops", "plan": {"tier": "ops", "window": [-1, 3]}}


def draw(site: str, came: str, generator: str = "python-random", step: int = 3, **columns: Any) -> Record:
    said = {"function": "random.random"} | columns.pop("said", {})
    columns = {"value": 1.0, "inputs": 5, "detail": json.dumps(said), **columns}
    return record(step, "data", "draw", generator, call_site=site, digest=d(came), **columns)


def state(generator: str, value: str, step: int = 3) -> Record:
    return record(step, "data", "rng", generator, digest=d(value))


def told(build: Builder, a: list[Record], b: list[Record]) -> tuple[DrawCount, ...]:
    start = [state("torch-cpu", "s", 0), record(3, "optimizer", "parameters")]
    return build_ledger(build([*start, *a], **OPS), build([*start, *b], **OPS))


def test_one_more_draw_is_told_by_generator_line_and_step(build: Builder) -> None:
    start = draw("a.py:1", "x")
    one, two = draw("augment.py:31", "y", inputs=6), draw("augment.py:31", "z", inputs=6, value=2.0)
    found = told(build, [start, one], [start, two])
    assert found == (
        DrawCount("python-random", 3, "rank0", "a.py:1", "random.random", 1, 1, False, False),
        DrawCount("python-random", 3, "rank0", "augment.py:31", "random.random", 1, 2, False, True),
    )


@pytest.mark.parametrize("only", ["a", "b"])
def test_a_line_that_draws_in_one_run_only_stands_where_it_drew(build: Builder, only: str) -> None:
    less = [draw("a.py:1", "x"), draw("c.py:3", "y")]
    more = [less[0], draw("b.py:2", "w"), draw("c.py:3", "z", inputs=9)]
    found = told(build, more, less) if only == "a" else told(build, less, more)
    counts = (1, 0) if only == "a" else (0, 1)
    assert [(row.call_site, row.draws_a, row.draws_b) for row in found] == [
        ("a.py:1", 1, 1),
        ("b.py:2", *counts),
        ("c.py:3", 1, 1),
    ]
    assert [row.state_differs for row in found] == [False, None, True]


def test_equal_draws_do_not_differ_and_one_other_value_does(build: Builder) -> None:
    rows = [draw("a.py:1", "x")]
    assert [row.values_differ for row in told(build, rows, [dict(rows[0])])] == [False]
    assert [row.values_differ for row in told(build, rows, [draw("a.py:1", "y")])] == [True]


def test_draws_of_torch_are_those_of_the_generator_that_they_name(build: Builder) -> None:
    def rows(own: str) -> list[Record]:
        return [
            operation(0, "aten.bernoulli_.float", "m", flags=DRAWS, detail="torch-cpu"),
            state("torch-cpu:generator", own, 0),
            operation(
                0,
                "aten.randperm.generator",
                own,
                flags=DRAWS,
                call_site="b.py:2",
                detail="torch-cpu:generator",
            ),
            operation(0, "aten.mm.default", "n"),
            operation(0, "aten.normal_.default", "n", flags=DRAWS, call_site="c.py:3", detail="torch-cpu"),
        ]

    found = told(build, rows("p"), rows("q"))
    assert [(row.generator, row.function, row.state_differs, row.values_differ) for row in found] == [
        ("torch-cpu", "aten.bernoulli_.float", False, False),
        ("torch-cpu:generator", "aten.randperm.generator", True, True),
        ("torch-cpu", "aten.normal_.default", False, False),
    ]


def test_draws_of_torch_outside_the_window_of_both_are_left_out(build: Builder) -> None:
    rows = [
        state("torch-cpu", "s", 0),
        operation(1, "aten.rand.default", "x", flags=DRAWS),
        operation(2, "aten.rand.default", "y", flags=DRAWS),
        record(3, "optimizer", "parameters"),
    ]
    wide, narrow = ({"tier": "ops", "plan": {"tier": "ops", "window": [n, 3]}} for n in (1, 2))
    found = build_ledger(build(rows, **wide), build([rows[0], *rows[2:]], **narrow))
    assert [(row.step, row.draws_a, row.draws_b) for row in found] == [(2, 1, 1)]


def test_where_one_run_goes_further_the_rest_is_left_out(build: Builder) -> None:
    start = [record(0, "optimizer", "parameters"), draw("a.py:1", "x", step=0)]
    longer = [*start, record(1, "optimizer", "parameters"), draw("a.py:1", "y", step=1)]
    found = build_ledger(build(start, **OPS), build(longer, **OPS))
    assert [row.step for row in found] == [0]


def test_workers_have_a_ledger_of_their_own_by_batch_and_other_ranks_are_left_out(build: Builder) -> None:
    def traces(value: str) -> dict[str, list[Record]]:
        worker = [draw("d.py:4", value, step=0, said={"batch": batch}) for batch in range(2)]
        return {"rank0.worker1": worker, "rank1": [draw("d.py:4", "other rank")]}

    found = build_ledger(build([], traces=traces("x"), **OPS), build([], traces=traces("y"), **OPS))
    assert [(row.process, row.step, row.values_differ) for row in found] == [
        ("rank0.worker1", 0, True),
        ("rank0.worker1", 1, True),
    ]


def test_there_is_none_at_tier_steps(build: Builder) -> None:
    rows = [draw("a.py:1", "x")]
    assert build_ledger(build(rows), build(list(rows))) == ()
