"""How values of the user's variables stand in a run's folder while it is followed line by line.

A number stands for itself. Whatever else is a digest, whose first byte says what it holds: of tensors, arrays
and generators 9 bytes; of sets 17, what they hold before its order; of other values 8, without such a byte.
"""

from __future__ import annotations

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})  # before Python 3.12
PREFIX = "lines."  # of the files, one a process
TENSOR, GENERATOR, SET = b"T", b"G", b"S"
_OF_DATA, _OF_SETS = 9, 17  # bytes

Value = int | float | bytes | None  # None: not known


def is_data(value: Value) -> bool:
    """Whether it holds tensors, arrays or a generator."""
    return type(value) is bytes and len(value) == _OF_DATA


def is_reordered(one: Value, other: Value) -> bool:
    """Whether two sets hold the same and give it in another order."""
    both = isinstance(one, bytes) and isinstance(other, bytes) and len(one) == len(other) == _OF_SETS
    return both and one != other and one[:_OF_DATA] == other[:_OF_DATA]  # type: ignore[index]


def is_number(value: Value) -> bool:
    """Whether it stands for itself."""
    return type(value) in (int, float)
