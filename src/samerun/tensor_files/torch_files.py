"""Files of torch.save, new (zip) and old, and plain pickles."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from samerun.tensor_files.elements import SIZES
from samerun.tensor_files.flatten import Leaf, Leaves, flatten
from samerun.tensor_files.numpy_arrays import read_pickled
from samerun.tensor_files.pickles import Call, Sketch, read_pickle
from samerun.tensor_files.refused import Refused, admit
from samerun.tensor_files.stored_bytes import Bytes, Part
from samerun.tensor_files.tensor import make_tensor
from samerun.tensor_files.zips import open_entry, open_zip

_LARGEST = 1 << 28  # bytes of the pickle; the tensors are beside it


def find_outline(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The pickle of a zip file of torch.save. Raises ValueError."""
    entries = [entry for entry in archive.infolist() if entry.filename.split("/")[-1] == "data.pkl"]
    if not entries:
        raise ValueError("a zip file without data.pkl")
    if entries[0].file_size > _LARGEST:
        raise ValueError(f"an outline of {entries[0].file_size} bytes")
    return entries[0]


def read_torch(data: Bytes) -> Leaves:
    """The leaves of a file of torch.save or pickle.

    Raises Refused for one that names code, ValueError, BadZipFile or what else a damaged one leads to.
    """
    if data.read_at(0, min(data.size, 2)) == b"PK":
        return _read_zipped(data)
    return _read_plain(data)


def _read_zipped(data: Bytes) -> Leaves:
    archive = open_zip(data)
    outline = find_outline(archive)
    folder = outline.filename.removesuffix("data.pkl")
    if f"{folder}constants.pkl" in archive.NameToInfo:
        raise Refused("it is a program of torch.jit, which is code")
    packed = open_entry(data, archive, outline)
    tree = read_pickle(io.BytesIO(packed.read_at(0, packed.size)), admit)
    order = archive.NameToInfo.get(f"{folder}byteorder")
    swapped = order is not None and open_entry(data, archive, order).read_at(0, 3) == b"big"
    found: dict[str, Bytes] = {}

    def find(key: str) -> Bytes:
        if key not in found:
            entry = archive.NameToInfo.get(f"{folder}data/{key}")
            if entry is None:
                raise ValueError(f"a tensor whose storage {key[:80]!r} is not there")
            found[key] = open_entry(data, archive, entry)
        return found[key]

    return _flatten(tree, find, swapped)


def _read_plain(data: Bytes) -> Leaves:
    file = io.BytesIO(data.read_at(0, min(data.size, _LARGEST)))
    tree = read_pickle(file, admit)
    found: Mapping[str, Bytes] = {}

    def find(key: str) -> Bytes:
        nonlocal found
        found = found or _find_storages(data, file, _list_storages(tree))
        if key not in found:
            raise ValueError(f"a tensor whose storage {key[:80]!r} is not there")
        return found[key]

    return _flatten(tree, find, False)


def _find_storages(data: Bytes, file: io.BytesIO, sizes: Mapping[str, int]) -> dict[str, Bytes]:
    """Of the old format: a pickle of keys, then for each a count of elements and these."""
    keys = read_pickle(file, admit)
    at, found = file.tell(), {}
    for key in keys if isinstance(keys, list) else []:
        count = int.from_bytes(data.read_at(at, 8), "little")
        total = count * sizes.get(str(key), 0)
        found[str(key)] = Part(data, at + 8, total)
        at += 8 + total
    return dict(found)


def _list_storages(tree: Any) -> dict[str, int]:
    """The bytes of one element of each storage, by key."""
    sizes: dict[str, int] = {}
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Sketch):
            sizes[str(node.storage)] = SIZES.get(node.stored, 0)
        elif isinstance(node, (dict, list, tuple, Call)) and id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, Call):
                waiting += [node.args, node.items, node.state]
            else:
                waiting += node.values() if isinstance(node, dict) else node
    return sizes


def _flatten(tree: Any, find: Callable[[str], Bytes], swapped: bool) -> Leaves:
    def make(node: Sketch | Call) -> Leaf | None:
        if isinstance(node, Call):
            return read_pickled(node)
        if isinstance(node.storage, (bytes, bytearray)):
            raise ValueError("a tensor that was pickled without torch.save, which is not compared")
        return make_tensor(
            node.dtype,
            node.shape,
            find(node.storage),
            offset=node.offset,
            strides=node.strides,
            swapped=swapped,
        )

    return flatten(tree, make)
