"""What the first byte and the length of a digest say of a value."""

from __future__ import annotations

from samerun.runs.followed import GENERATOR, SET, TENSOR, is_data, is_number, is_reordered

HELD, ORDER = b"12345678", b"abcdefgh"


def test_tensors_and_generators_are_data_and_nothing_else_is() -> None:
    assert is_data(TENSOR + HELD) and is_data(GENERATOR + HELD)
    assert not any(map(is_data, (HELD, SET + HELD + ORDER, 3, 0.5, None)))


def test_sets_of_the_same_in_another_order() -> None:
    one, other = SET + HELD + ORDER, SET + HELD + HELD
    assert is_reordered(one, other)
    assert not is_reordered(one, one)
    assert not is_reordered(one, SET + ORDER + HELD)
    assert not is_reordered(one, None) and not is_reordered(TENSOR + HELD, TENSOR + ORDER)


def test_only_numbers_stand_for_themselves() -> None:
    assert is_number(1) and is_number(0.5)
    assert not any(map(is_number, (True, None, HELD)))
