"""Tables and arrays of Parquet, Feather and HDF5, where the library that reads them is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from samerun.launching.written_files.texts import convert, digest
from samerun.runs.written import Value

PARQUET, FEATHER, HDF5 = b"PAR1", b"ARROW1", b"\x89HDF\r\n\x1a\n"
_MOST_CELLS = 2_000_000
_MOST_ITEMS = 10_000  # of an HDF5 file


def read_parquet(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The columns of a table of Parquet. Raises ValueError, also where pyarrow is not installed."""
    parquet = _load("pyarrow.parquet")
    yield from _read_columns(parquet.read_table(file))


def read_feather(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The same of Feather and Arrow files."""
    feather = _load("pyarrow.feather")
    yield from _read_columns(feather.read_table(file))


def read_hdf5(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The datasets and attributes of an HDF5 file. Raises ValueError, also where h5py is not installed."""
    h5py = _load("h5py")
    found: dict[str, Any] = {}

    def add(name: str, item: Any) -> None:
        if len(found) < _MOST_ITEMS:
            found[name] = item

    with h5py.File(file, "r") as opened:
        found[""] = opened
        opened.visititems(add)
        for name, item in found.items():
            for key in item.attrs:
                yield f"{name}.{key}".lstrip("."), _convert(item.attrs[key])
            if isinstance(item, h5py.Dataset):
                yield _name(name, item.dtype.kind in "biufc" and item.size > 1), _convert(item[()])


def _read_columns(table: Any) -> Iterator[tuple[str, Value]]:
    if table.num_rows * max(table.num_columns, 1) > _MOST_CELLS:
        raise ValueError(f"a table of more than {_MOST_CELLS} cells")
    for name in table.column_names:
        column = table.column(name)
        cells = column.to_pylist()
        if len(cells) == 1:
            yield name, _convert(cells[0])
        else:
            is_number = all(isinstance(cell, (int, float)) for cell in cells)
            yield _name(name, is_number), digest(f"{column.type} {cells!r}".encode("utf-8", "surrogatepass"))


def _name(name: str, is_array: bool) -> str:
    return f"array {name}" if is_array else name


def _convert(value: Any) -> Value:
    """A number, a text or an array of NumPy."""
    plain = getattr(value, "item", None)
    if plain is not None and getattr(value, "size", 1) == 1:
        value = plain()
    if isinstance(value, (str, bytes, bool, int, float)) or value is None:
        return convert(value)
    if hasattr(value, "tobytes") and not value.dtype.hasobject:
        return digest(f"{value.dtype} {value.shape} ".encode() + value.tobytes())
    return convert(str(value))


def _load(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ValueError(f"{name} is not installed here: {error}") from None
