"""Files of safetensors: https://huggingface.co/docs/safetensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from samerun.runs import untrusted
from samerun.tensor_files.elements import SIZES
from samerun.tensor_files.flatten import Leaves, add_leaf
from samerun.tensor_files.stored_bytes import Bytes, Part
from samerun.tensor_files.tensor import make_tensor

_MOST_HEADER = 16 << 20
_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "U32": "uint32",
    "I32": "int32",
    "U64": "uint64",
    "I64": "int64",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
    "F8_E8M0": "float8_e8m0fnu",
}


@dataclass(frozen=True)
class Entry:
    """One tensor: where its bytes are, from the begin of the file on."""

    kind: str  # the dtype as the file names it, such as "BF16"
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> str:
        """By torch's name; the file's own where that is not known."""
        return _DTYPES.get(self.kind, self.kind)


def read_header(read_at: Callable[[int, int], bytes]) -> dict[str, Entry]:
    """The tensors of a file by name. Raises ValueError for a header that is damaged or too long."""
    length = int.from_bytes(read_at(0, 8), "little")
    if length > _MOST_HEADER:
        raise ValueError(f"a header of {length} bytes; at most {_MOST_HEADER} are read")
    header = untrusted.parse_json(read_at(8, length).decode("utf-8"))
    if not isinstance(header, dict):
        raise ValueError("a header that is no object")
    entries = {}
    for name, entry in header.items():
        if name != "__metadata__":
            entries[name] = _read_entry(name, entry, 8 + length)
    return entries


def _read_entry(name: str, entry: object, start: int) -> Entry:
    wrong = ValueError(f"an entry {name[:200]!r} that is no tensor")
    if not isinstance(entry, dict):
        raise wrong
    dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
    if not isinstance(dtype, str) or not isinstance(shape, list) or not isinstance(offsets, list):
        raise wrong
    if len(offsets) != 2 or any(type(each) is not int or each < 0 for each in (*shape, *offsets)):
        raise wrong
    return Entry(dtype, tuple(shape), start + offsets[0], start + offsets[1])


def read_safetensors(data: Bytes) -> Leaves:
    """The tensors of a file. Raises ValueError."""
    leaves: Leaves = {}
    for name, entry in read_header(data.read_at).items():
        count = math.prod(entry.shape)
        size = entry.end - entry.begin
        element = SIZES.get(entry.dtype) or (size // count if count else 1)
        if size != element * count:
            raise ValueError(f"{name[:200]!r} has {size} bytes for {count} elements of {entry.dtype[:80]}")
        tensor = make_tensor(entry.dtype, entry.shape, Part(data, entry.begin, size), element=element)
        add_leaf(leaves, name, tensor)
    return leaves
