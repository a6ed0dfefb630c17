"""Arrays of NumPy: .npy and .npz files, and those that lie in a pickle."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from samerun.tensor_files.flatten import Leaf, Leaves, add_leaf
from samerun.tensor_files.pickles import Call
from samerun.tensor_files.stored_bytes import Bytes, BytesFile, Held, Part
from samerun.tensor_files.tensor import Tensor, make_tensor
from samerun.tensor_files.zips import open_entry, open_zip

if TYPE_CHECKING:
    import numpy as np

_LONGEST_HEADER = 10_000  # bytes, as NumPy's own limit
_KNOWN = "biufc"  # kinds whose values are read; others are compared by their bytes
_ARRAYS = ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct")
_SCALARS = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
_BUFFERS = ("numpy.core.numeric._frombuffer", "numpy._core.numeric._frombuffer")


def read_npy(data: Bytes) -> Leaves:
    """The array of a .npy file, with no name. Raises ValueError for one that is damaged or holds objects."""
    return {"": _read_array(data)}


def read_npz(data: Bytes) -> Leaves:
    """The arrays of a .npz file. Raises as `read_npy`, and BadZipFile."""
    leaves: Leaves = {}
    archive = open_zip(data)
    for entry in archive.infolist():
        if not entry.filename.endswith(".npy"):
            raise ValueError(f"an entry {entry.filename[:200]!r}, which is no array")
        add_leaf(leaves, entry.filename.removesuffix(".npy"), _read_entry(data, archive, entry))
    return leaves


def _read_entry(data: Bytes, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Tensor:
    try:
        return _read_array(open_entry(data, archive, entry))
    except ValueError as error:
        raise ValueError(f"{entry.filename[:200]}: {error}") from None


def _read_array(data: Bytes) -> Tensor:
    import numpy as np

    start = Held(data.read_at(0, min(data.size, _LONGEST_HEADER + 12)))
    file = BytesFile(start)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(file)
    if version not in readers:
        raise ValueError(f"an array of version {version}")
    try:
        shape, fortran, dtype = readers[version](file, max_header_size=_LONGEST_HEADER)
    except (
        SyntaxError,
        TypeError,
        MemoryError,
        RecursionError,
    ) as error:  # of the literal that the header is
        raise ValueError(f"an array whose header is damaged ({type(error).__name__})") from None
    return _make_array(dtype, shape, data, fortran=fortran, start=file.tell())


def _make_array(
    dtype: np.dtype[Any], shape: tuple[int, ...], data: Bytes, *, fortran: bool = False, start: int = 0
) -> Tensor:
    if dtype.hasobject:
        raise ValueError("an array of Python objects, which are pickles: to load them may run code")
    known = dtype.kind in _KNOWN and dtype.itemsize <= (16 if dtype.kind == "c" else 8)
    swapped = dtype.byteorder == ">"
    if swapped and not known:
        raise ValueError(f"a big-endian array of dtype {str(dtype)[:80]}, which is not compared")
    count = 1
    strides = []
    for extent in shape if fortran else reversed(shape):
        strides.append(count)
        count *= extent
    return make_tensor(
        dtype.newbyteorder("<").name if known else str(dtype)[:200],
        tuple(shape),
        Part(data, start, data.size - start) if start else data,
        strides=tuple(strides if fortran else reversed(strides)),
        swapped=swapped,
        element=dtype.itemsize,
    )


def read_pickled(node: Call) -> Leaf | None:
    """An array or a number of NumPy that lies in a pickle; None for other objects. Raises ValueError."""
    if node.name in _ARRAYS and isinstance(node.state, tuple) and len(node.state) == 5:
        _, shape, dtype, fortran, data = node.state
        return _make_pickled(dtype, shape, data, fortran is True)
    if node.name in _SCALARS and len(node.args) == 2:
        return _make_pickled(node.args[0], (), node.args[1], False)
    if node.name in _BUFFERS and len(node.args) == 4:
        data, dtype, shape, order = node.args
        return _make_pickled(dtype, shape, data, order == "F")
    return None


def _make_pickled(dtype: Any, shape: Any, data: Any, fortran: bool) -> Tensor:
    import numpy as np

    if not isinstance(dtype, Call) or dtype.name != "numpy.dtype" or not isinstance(dtype.args[0], str):
        raise ValueError("an array of a dtype that is not known")
    if not isinstance(data, (bytes, bytearray)) or dtype.args[0].startswith("O"):
        raise ValueError("an array of Python objects, which is not compared")
    kind = np.dtype(dtype.args[0])
    if isinstance(dtype.state, tuple) and len(dtype.state) > 1 and dtype.state[1] == ">":
        kind = kind.newbyteorder(">")
    if kind.kind not in _KNOWN and kind.kind not in "SU":
        raise ValueError(f"an array of dtype {str(kind)[:80]} in a pickle, which is not compared")
    return replace(_make_array(kind, tuple(shape), Held(bytes(data)), fortran=fortran), in_pickle=True)
