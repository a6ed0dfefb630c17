"""Two checkpoints or files of tensors side by side, name by name and bit by bit."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samerun.comparing.tensor_distance import TensorDistance, measure_distance
from samerun.tensor_files.flatten import Leaf, Unread, Value
from samerun.tensor_files.read import explain, read_contents
from samerun.tensor_files.tensor import Tensor

_LONGEST = 200  # characters of a value that are kept


@dataclass(frozen=True)
class LeafDifference:
    """One name that is not the same in both files."""

    name: str
    what: str  # "only in A", "only in B", "kind", "dtype", "shape", "values", "value" or "unread"
    a: str | None = None  # what A has: a value, a dtype, a shape, or a tensor's outline
    b: str | None = None
    distance: TensorDistance | None = None  # of "values"

    def to_json(self) -> dict[str, Any]:
        """As plain values; the keys of a distance are null without one."""
        distance = self.distance or TensorDistance()
        return {"name": self.name, "what": self.what, "a": self.a, "b": self.b, **distance.to_json()}


@dataclass
class FileComparison:
    """What two files have in common, and what not."""

    a: str
    b: str
    tensors: int = 0  # names of tensors that are in one file or both
    values: int = 0  # of plain values
    elements: int = 0  # of tensors that both files have, compared one by one
    differing_tensors: int = 0
    differing_values: int = 0
    differences: list[LeafDifference] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """same, differs or unknown."""
        if self.differing_tensors or self.differing_values:
            return "differs"
        return "unknown" if self.reason else "same"

    @property
    def reason(self) -> str | None:
        """Why it is unknown; None where it is not."""
        if self.differing_tensors or self.differing_values:
            return None
        unread = [item for item in self.differences if item.what == "unread"]
        if unread:
            return f"{unread[0].name} is not the same file in both, and is not read: {unread[0].a}"
        return None if self.tensors or self.values else "there is nothing in them to compare"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "schema": 1,
            "verdict": self.verdict,
            "reason": self.reason,
            "files": [self.a, self.b],
            "tensors": self.tensors,
            "values": self.values,
            "elements": self.elements,
            "differing_tensors": self.differing_tensors,
            "differing_values": self.differing_values,
            "differences": [item.to_json() for item in self.differences],
            "notes": list(self.notes),
        }


def compare_files(a: Path, b: Path) -> FileComparison:
    """Compare two files or folders. Raises TensorFileError for one that cannot be read."""
    found = FileComparison(str(a), str(b))
    one, other = read_contents(a), read_contents(b)
    left_out = sorted({*one.left_out, *other.left_out})
    if left_out:
        more = f", and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        found.notes = (
            f"not compared, since they hold no tensors or settings: {', '.join(left_out[:3])}{more}",
        )
    known: dict[Any, TensorDistance | None] = {}
    for name in dict.fromkeys((*one.leaves, *other.leaves)):
        _add(found, name, one.leaves.get(name), other.leaves.get(name), known)
    return found


def _add(
    found: FileComparison,
    name: str,
    one: Leaf | None,
    other: Leaf | None,
    known: dict[Any, TensorDistance | None],
) -> None:
    is_tensor = isinstance(one, Tensor) or isinstance(other, Tensor)
    found.tensors += is_tensor
    found.values += not is_tensor
    difference = _compare(found, name, one, other, known)
    if difference is not None:
        found.differences.append(difference)
        found.differing_tensors += is_tensor
        found.differing_values += not is_tensor and difference.what != "unread"


def _compare(
    found: FileComparison,
    name: str,
    one: Leaf | None,
    other: Leaf | None,
    known: dict[Any, TensorDistance | None],
) -> LeafDifference | None:
    if one is None or other is None:
        side = "A" if other is None else "B"
        return LeafDifference(name, f"only in {side}", *_format_side(one, other))
    if isinstance(one, Unread) and isinstance(other, Unread):
        equal = one.digest == other.digest
        return None if equal else LeafDifference(name, "unread", one.reason, other.reason)
    if isinstance(one, Value) and isinstance(other, Value):
        return None if _is_same(one, other) else LeafDifference(name, "value", *_format_two(one, other))
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return LeafDifference(name, "kind", _format(one), _format(other))
    if one.dtype != other.dtype or one.shape != other.shape:
        what = "dtype" if one.dtype != other.dtype else "shape"
        return LeafDifference(name, what, _format(one), _format(other))
    found.elements += one.count
    key = (one.place, other.place, one.dtype, one.shape) if one.place and other.place else None
    if key is None or key not in known:
        known[key] = measure_distance(
            lambda: _read(one, found.a), lambda: _read(other, found.b), one.dtype, one.shape, one.element
        )
    distance = known[key]
    return (
        None if distance is None else LeafDifference(name, "values", _format(one), _format(other), distance)
    )


def _read(tensor: Tensor, path: str) -> Iterator[bytes]:
    """Its chunks. Raises TensorFileError where these cannot be read."""
    try:
        yield from tensor.chunks()
    except Exception as error:  # whatever a damaged file makes its reader say
        raise explain(Path(path), error) from error


def _is_same(one: Value, other: Value) -> bool:
    """Of one type and of the same bits: NaN is NaN, and 0.0 is not -0.0."""
    a, b = one.value, other.value
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, complex) and isinstance(b, complex):
        return struct.pack("<dd", a.real, a.imag) == struct.pack("<dd", b.real, b.imag)
    return a == b


def _format_two(one: Value, other: Value) -> tuple[str, str]:
    """Both, from where they part on if that is far in."""
    a, b = _format(one), _format(other)
    if a != b:
        return a, b
    whole = [str(leaf.value) if isinstance(leaf.value, str) else repr(leaf.value) for leaf in (one, other)]
    at = next((at for at, pair in enumerate(zip(*whole, strict=False)) if pair[0] != pair[1]), None)
    start = max((min(map(len, whole)) if at is None else at) - 20, 0)
    first, second = (f"…{text[start : start + _LONGEST]}" for text in whole)
    return first, second


def _format_side(one: Leaf | None, other: Leaf | None) -> tuple[str | None, str | None]:
    return (None if one is None else _format(one)), (None if other is None else _format(other))


def _format(leaf: Leaf) -> str:
    if isinstance(leaf, Tensor):
        return f"{leaf.dtype} {list(leaf.shape)}"
    if isinstance(leaf, Unread):
        return "a file that is not read"
    if isinstance(leaf.value, int) and leaf.value.bit_length() > 256:
        return f"an integer of {leaf.value.bit_length()} bits"
    shown = repr(leaf.value[:_LONGEST]) if isinstance(leaf.value, (str, bytes)) else repr(leaf.value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
