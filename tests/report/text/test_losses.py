from __future__ import annotations

import math
from dataclasses import replace

from samerun.report.text.losses import build_loss_table, choose_writer

from ..results import DIFFERS


def rows(single: tuple[dict[int, float], ...], width: int = 100) -> list[str]:
    return rows_of(tuple({step: (loss,) for step, loss in run.items()} for run in single), width)


def rows_of(losses: tuple[dict[int, tuple[float, ...]], ...], width: int = 100) -> list[str]:
    runs = tuple(f"run-{number}" for number in range(len(losses)))
    result = replace(DIFFERS, losses=losses, runs=runs, pair=(runs[0], runs[-1]), difference=None)
    return [line.plain for line in build_loss_table(result, width)]


def test_one_bit_of_a_float32_shows() -> None:
    assert len({choose_writer([1.0, 1.0 + 2**-23])(value) for value in (1.0, 1.0 + 2**-23)}) == 2


def test_one_bit_of_a_float64_shows() -> None:
    values = (0.1, math.nextafter(0.1, 1))
    assert len(set(map(choose_writer(values), values))) == 2


def test_nan_and_infinity_are_float32() -> None:
    assert choose_writer([math.nan, math.inf])(math.nan) == "nan"


def test_no_loss_no_table() -> None:
    assert rows(({}, {})) == []


def test_the_first_differing_row_alone_is_marked() -> None:
    table = rows(({0: 1.0, 1: 2.0, 2: 3.0}, {0: 1.0, 1: 2.5, 2: 3.5}))
    assert [line for line in table if line.startswith("→")] == [table[2]]


def test_equal_losses_have_no_mark() -> None:
    assert not any("→" in line for line in rows(({0: 1.0}, {0: 1.0})))


def test_runs_that_are_the_same_in_another_order_have_one_column_and_no_mark() -> None:
    losses = ({0: (1.0,), 1: (2.0,)}, {0: (2.0,), 1: (1.0,)})
    result = replace(DIFFERS, verdict="same", losses=losses, runs=("a", "b"), pair=None, difference=None)
    table = [line.plain for line in build_loss_table(result, 100)]
    assert [line.split() for line in table] == [["step", "run", "1"], ["0", "1"], ["1", "2"]]


def test_a_run_that_ended_early_has_a_dash() -> None:
    table = rows(({0: 1.0, 1: 2.0}, {0: 1.0}))
    assert table[-1].split() == ["→", "1", "2", "–"]


def test_what_lies_between_is_left_out_and_said_so() -> None:
    losses = {step: float(step) for step in range(100)}
    table = rows((losses, {**losses, 50: 50.5}))
    assert [line.split()[0] for line in table[1:5]] == ["0", "1", "2", "3"]
    assert sum("…" in line for line in table) == 2
    assert len(table) < 15


def test_the_pair_that_parts_is_shown_when_not_all_fit() -> None:
    losses = tuple({0: 0.123456789} for _ in range(20))
    table = rows(losses, 60)
    assert "run 1" in table[0]
    assert "run 20" in table[0]
    assert all(len(line) <= 60 for line in table[:-1])
    assert "more runs" in table[-1]


def test_of_several_losses_in_a_step_the_first_that_differs_is_shown() -> None:
    table = rows_of(({0: (1.0, 2.0, 3.0)}, {0: (1.0, 2.5, 3.0)}))
    assert table[1].split() == ["→", "0", "2", "2.5"]
    table = rows_of(({0: (1.0, 2.0)}, {0: (1.0, 2.0)}))
    assert table[1].split() == ["0", "2", "2"]


def test_nan_in_every_run_is_not_a_difference() -> None:
    assert not any("→" in line for line in rows(({0: math.nan}, {0: math.nan})))
