"""Folders of torch.distributed.checkpoint: .metadata says where the chunks of each tensor are.

https://pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from samerun.tensor_files.flatten import Leaf, Leaves, add_leaf
from samerun.tensor_files.pickles import Call, read_pickle
from samerun.tensor_files.refused import admit
from samerun.tensor_files.stored_bytes import Bytes, Part
from samerun.tensor_files.tensor import Tensor, list_pieces
from samerun.tensor_files.torch_files import read_torch

INDEX = ".metadata"
_MOST_INDEX = 1 << 28  # bytes


@dataclass(frozen=True)
class _Chunk:
    """What one rank wrote of a tensor, or a whole object."""

    offsets: tuple[int, ...]  # of its first element in the tensor; () for an object
    file: str
    begin: int
    size: int  # bytes


def read_distributed(index: Bytes, open_part: Callable[[str], Bytes]) -> Leaves:
    """The leaves by the names in the index; `open_part` opens a file by its name in the folder.

    Raises ValueError for a folder that is damaged, Refused as `read_torch`, and what `open_part` raises.
    """
    if index.size > _MOST_INDEX:
        raise ValueError(f"an index of {index.size} bytes")
    tree = read_pickle(io.BytesIO(index.read_at(0, index.size)), _admit)
    saved, chunks = _get(tree, "state_dict_metadata"), _list_chunks(_get(tree, "storage_data"))
    leaves: Leaves = {}
    for name, kind in _as_dict(saved).items():
        there = chunks.get(name, [])
        if not there:
            raise ValueError(f"{name[:200]!r} is in the index, and no file holds it")
        if kind.name.endswith(".TensorStorageMetadata"):
            add_leaf(leaves, name, _read_tensor(name, _get_size(_get(kind, "size")), there, open_part))
        else:
            for inner, leaf in _read_chunk(there[0], open_part).items():
                add_leaf(leaves, f"{name}.{inner}" if inner else name, leaf)
    return leaves


def _admit(name: str) -> None:
    """As `admit`, and members of an enum as early releases of Python 3.11 write them: getattr(enum, name).

    It is read as a value like the others; nothing is looked up.
    """
    if name != "builtins.getattr":
        admit(name)


def _read_chunk(chunk: _Chunk, open_part: Callable[[str], Bytes]) -> dict[str, Leaf]:
    return read_torch(Part(open_part(chunk.file), chunk.begin, chunk.size))


def _read_tensor(
    name: str, shape: tuple[int, ...], chunks: list[_Chunk], open_part: Callable[[str], Bytes]
) -> Tensor:
    parts: list[tuple[tuple[int, ...], Tensor]] = []
    for chunk in sorted(chunks, key=lambda chunk: chunk.offsets):
        tensor = _read_chunk(chunk, open_part).get("")
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{name[:200]!r} should be a tensor, and its chunk is none")
        parts.append((chunk.offsets, tensor))
    first = parts[0][1]
    if len(parts) == 1 and first.shape == shape:
        return first
    _check_cover(name, shape, parts)
    return Tensor(first.dtype, shape, first.element, lambda: _join(shape, parts))


def _check_cover(name: str, shape: tuple[int, ...], parts: list[tuple[tuple[int, ...], Tensor]]) -> None:
    """Raise ValueError unless the chunks lie within the tensor, are of one dtype and make up its size."""
    for offsets, part in parts:
        fits = len(offsets) == len(part.shape) == len(shape) and all(
            at >= 0 and at + extent <= whole
            for at, extent, whole in zip(offsets, part.shape, shape, strict=True)
        )
        if not fits or part.dtype != parts[0][1].dtype:
            raise ValueError(f"a chunk of {name[:200]!r} does not fit into it")
    if sum(part.count for _, part in parts) != math.prod(shape):
        raise ValueError(f"the chunks of {name[:200]!r} are not the whole of it")


def _join(shape: tuple[int, ...], parts: list[tuple[tuple[int, ...], Tensor]]) -> Iterator[bytes]:
    import numpy as np

    element = parts[0][1].element
    whole = np.zeros(shape, f"V{element}")
    for offsets, part in parts:
        place = tuple(slice(at, at + extent) for at, extent in zip(offsets, part.shape, strict=True))
        whole[place] = np.frombuffer(b"".join(part.chunks()), f"V{element}").reshape(part.shape)
    flat = whole.reshape(-1)
    for begin, end in list_pieces(flat.size * element, element):
        yield flat[begin // element : end // element].tobytes()


def _list_chunks(stored: Any) -> dict[str, list[_Chunk]]:
    found: dict[str, list[_Chunk]] = {}
    for key, value in _as_dict(stored).items():
        name, offsets = _get(key, "fqn"), _get(key, "offset", None)
        file, begin, size = (_get(value, part) for part in ("relative_path", "offset", "length"))
        if type(name) is not str or type(file) is not str or type(begin) is not int or type(size) is not int:
            raise ValueError("an index that is damaged")
        if _get(value, "transform_descriptors", None):
            raise ValueError(f"{name[:200]!r} was transformed as it was saved, which is not read")
        found.setdefault(name, []).append(_Chunk(_get_size(offsets) if offsets else (), file, begin, size))
    return found


def _as_dict(value: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise ValueError("an index that is damaged")
    return value


_NEEDED = object()


def _get(value: Any, name: str, otherwise: Any = _NEEDED) -> Any:
    state = value.state if isinstance(value, Call) else None
    found = state.get(name, otherwise) if isinstance(state, dict) else _NEEDED
    if found is _NEEDED:
        raise ValueError(f"an index without {name}")
    return found


def _get_size(value: Any) -> tuple[int, ...]:
    """Of a torch.Size."""
    size = value.args[0] if isinstance(value, Call) and value.name == "torch.Size" and value.args else ()
    if not isinstance(size, tuple) or len(size) > 64 or any(type(each) is not int for each in size):
        raise ValueError("an index with a size that is none")
    return size
