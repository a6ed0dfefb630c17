from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from samerun.comparing.growth import Growth, measure_growth

from .build import Builder, Record, d, find, flip, group, record, training


def grown(build: Builder, change: Any, steps: int = 4) -> Growth | None:
    return measure_growth(build(training(steps)), build(training(steps), change=change))


def at(what: str, *steps: int) -> Any:
    def change(rows: list[Record]) -> None:
        for step in steps:
            flip(rows[find(rows, what, step, "optimizer")])

    return change


def test_equal_runs_have_no_growth(build: Builder) -> None:
    assert grown(build, None) is None


def test_one_changed_bit_of_one_parameter_is_one_parameter_that_differs(build: Builder) -> None:
    found = grown(build, at("parameters", 1, 2, 3))
    assert found is not None
    assert (found.alive, found.healed_at, found.reached_weights_at) == (True, None, 1)
    assert [(item.step, item.differing, item.parameters) for item in found.distances] == [
        (1, 1, 3),
        (2, 1, 3),
        (3, 1, 3),
    ]


def test_parameters_in_another_order_have_no_distance(build: Builder) -> None:
    """Each would be compared with another one."""

    def reorder(rows: list[Record]) -> None:
        for row in rows:
            if row["what"] == "names" and row["name"].startswith("parameters:"):
                row["detail"] = json.dumps(json.loads(row["detail"])[::-1])
        flip(rows[find(rows, "parameters", 2)])

    assert any(row["what"] == "names" for row in training())
    assert grown(build, reorder) is None


def test_a_difference_that_vanishes_is_healed(build: Builder) -> None:
    found = grown(build, at("parameters", 1))
    assert found is not None
    assert (found.alive, found.healed_at, found.reached_weights_at) == (False, 2, 1)


def test_a_difference_of_an_activation_alone_heals_and_never_reaches_the_weights(build: Builder) -> None:
    def change(rows: list[Record]) -> None:
        flip(rows[find(rows, "output", 1, "forward")])

    found = grown(build, change)
    assert found is not None
    assert (found.alive, found.healed_at, found.reached_weights_at) == (False, 2, None)
    assert [item.differing for item in found.distances] == [0, 0, 0]


def test_groups_without_the_digests_of_their_tensors_count_as_one(build: Builder) -> None:
    def change(rows: list[Record]) -> None:
        at("parameters", 1, 2, 3)(rows)
        for step in (2, 3):
            rows[find(rows, "parameters", step, "optimizer")].pop("parts")

    found = grown(build, change)
    assert found is not None
    assert [(item.differing, item.parameters) for item in found.distances] == [(1, 3), (1, 1), (1, 1)]


def test_a_difference_in_a_buffer_lives_on_though_no_weight_differs(build: Builder) -> None:
    def change(rows: list[Record]) -> None:
        rows[find(rows, "loss", 1)]["value"] = 0.5000001
        at("buffers", 3)(rows)

    found = grown(build, change)
    assert found is not None
    assert found.alive
    assert found.reached_weights_at is None


def test_losses_are_apart_relative_to_the_larger(build: Builder) -> None:
    def change(rows: list[Record]) -> None:
        for step, value in ((2, 1.0), (3, float("nan"))):  # 1/3 in the other run
            at = find(rows, "loss", step)
            flip(rows[at])
            rows[at]["value"] = value

    found = grown(build, change)
    assert found is not None
    assert [item.loss for item in found.distances] == [pytest.approx(2 / 3), None]
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    "kind, dtype, integers", [("float32", np.float32, np.int32), ("float64", np.float64, np.int64)]
)
def test_ulps_are_counted_across_zero_and_signs(build: Builder, kind: str, dtype: Any, integers: Any) -> None:
    one = np.array([1.0, -1.0, 0.0, 5.0], dtype)
    other = one.copy()
    other[0] = np.nextafter(one[0], dtype(2))
    other[1] = np.nextafter(np.nextafter(one[1], dtype(0)), dtype(0))
    other[2] = -np.nextafter(dtype(0), dtype(1))

    def sampled(values: Any) -> list[Record]:
        said = json.dumps({"elements": 4, "of": 40, "dtype": kind})
        raw = values.view(integers).tobytes()
        values_row = record(0, "optimizer", "values", "SGD", parts=raw, detail=said, digest=d(raw.hex()))
        return [group(0, "optimizer", "parameters", seed=raw.hex()), values_row]

    found = measure_growth(build(sampled(one)), build(sampled(other)))
    assert found is not None
    (item,) = found.distances
    assert (item.elements, item.sampled, item.of) == (3, 4, 40)
    assert (item.largest_ulps, item.median_ulps) == (2.0, 1.0)
