"""What was done to this process is taken back in the reverse order."""

from __future__ import annotations

from contextlib import ExitStack

from samerun.layers import Layer, end, put, take_back


def laid(undone: list[str], name: str, *, own_end: bool = True) -> Layer:
    stack = ExitStack()
    stack.callback(undone.append, name)
    return put(stack, own_end=own_end)


def test_a_layer_that_ends_first_waits_for_those_over_it() -> None:
    undone: list[str] = []
    below, above = laid(undone, "below"), laid(undone, "above")
    end(below)
    assert undone == []
    end(above)
    assert undone == ["above", "below"]


def test_one_without_an_end_lasts_until_the_one_below_ends() -> None:
    undone: list[str] = []
    below = laid(undone, "below")
    laid(undone, "above", own_end=False)
    end(below)
    assert undone == ["above", "below"]


def test_only_one_without_an_end_is_taken_back() -> None:
    undone: list[str] = []
    laid(undone, "open", own_end=False)
    take_back()
    assert undone == ["open"]
    ends = laid(undone, "ends")
    take_back()
    assert undone == ["open"]
    end(ends)
