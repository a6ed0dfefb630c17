from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from samerun.explaining.delta_debugging import find_smallest


@given(st.integers(1, 9), st.data())
def test_nothing_can_be_left_out_and_no_set_is_asked_twice(size: int, data: st.DataObject) -> None:
    items = list(range(size))
    needed = data.draw(st.sets(st.sampled_from(items), min_size=1))
    asked: list[frozenset[int]] = []

    def does(part: list[int]) -> bool:
        asked.append(frozenset(part))
        return needed <= set(part)

    assert set(find_smallest(items, does)) == needed
    assert len(asked) == len(set(asked))


def test_of_two_that_both_do_the_best_is_kept() -> None:
    assert find_smallest(["best", "worse", "worst"], lambda part: "best" in part or "worst" in part) == [
        "best"
    ]


def test_what_fails_alone_is_not_tried_alone() -> None:
    asked: list[int] = []

    def does(part: list[str]) -> bool:
        asked.append(len(part))
        return {"a", "c"} <= set(part)

    assert find_smallest(list("abc"), does, fail_alone="abc") == ["a", "c"]
    assert min(asked) == 2


def test_every_minimal_set_is_found_whatever_the_order() -> None:
    for pair in combinations(range(6), 2):
        assert find_smallest(range(6), lambda part, pair=pair: set(pair) <= set(part)) == list(pair)  # type: ignore[misc]
