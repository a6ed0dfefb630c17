"""Arrays of NumPy, tensors of torch.save and safetensors, and the plain values in pickles."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

from samerun.launching.written_files.texts import convert, digest
from samerun.runs.written import Value
from samerun.tensor_files import flatten
from samerun.tensor_files.refused import Refused
from samerun.tensor_files.safetensors import read_header
from samerun.tensor_files.stored_bytes import Bytes, Held, Stored
from samerun.tensor_files.tensor import Tensor
from samerun.tensor_files.torch_files import find_outline, read_torch

MOST_ARRAYS = 256 << 20  # bytes of one file
_MOST_OUTLINE = 2 << 20  # bytes of the pickle in a file of torch.save: more is an optimizer, not results


def read_array(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The array of a .npy file, with the form that its header gives."""
    yield "array", digest(file.read())


def read_arrays(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The arrays of a .npz file, each with the checksum of what it holds. Raises BadZipFile."""
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            yield entry.filename.removesuffix(".npy"), f"{entry.CRC:08x} {entry.file_size}"


def read_saved(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The storages of a file of torch.save, each with its checksum; plain values and NumPy's arrays beside.

    Raises ValueError and BadZipFile.
    """
    if file.read(2) != b"PK":
        yield from read_pickle(file)
        return
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            folder, _, name = entry.filename.rpartition("/")
            if folder.endswith("/data") or folder == "data":
                yield f"tensor {name}", f"{entry.CRC:08x} {entry.file_size}"
        if find_outline(archive).file_size > _MOST_OUTLINE:
            return
    try:
        leaves = read_torch(_store(file))
    except (Refused, ValueError):  # it names code: the tensors are compared all the same
        return
    for name, leaf in leaves.items():
        if isinstance(leaf, flatten.Value):
            yield name, convert(leaf.value)
        elif isinstance(leaf, Tensor) and leaf.in_pickle:
            yield f"array {name}".strip(), _digest_array(leaf)


def _digest_array(leaf: Tensor) -> str:
    return digest(b"".join([repr((leaf.dtype, leaf.shape)).encode(), *leaf.chunks()]))


def read_pickle(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The plain values and arrays of a pickle. Raises Refused for one that names code, and ValueError."""
    for name, leaf in read_torch(_store(file)).items():
        if isinstance(leaf, flatten.Value):
            yield name, convert(leaf.value)
        elif isinstance(leaf, Tensor):
            if leaf.bytes > MOST_ARRAYS:  # a view of a few bytes may claim as much
                raise ValueError(f"a tensor of {leaf.bytes} bytes")
            yield f"array {name}".strip(), _digest_array(leaf)


def read_safetensors(file: BinaryIO) -> Iterator[tuple[str, Value]]:
    """The tensors of a .safetensors file. Raises ValueError."""

    def read_at(at: int, count: int) -> bytes:
        file.seek(at)
        return file.read(count)

    for name, entry in sorted(read_header(read_at).items()):
        kind = f"{entry.kind} {list(entry.shape)} ".encode()
        yield name, digest(kind + read_at(entry.begin, min(entry.end - entry.begin, MOST_ARRAYS)))


def _store(file: BinaryIO) -> Bytes:
    return Held(file.getvalue()) if isinstance(file, io.BytesIO) else Stored(file, file.seek(0, 2))
