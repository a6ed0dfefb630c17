"""A checkpoint, a file of tensors or a folder of them as a table of leaves; nothing in it is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from samerun.errors import TensorFileError
from samerun.runs import untrusted
from samerun.tensor_files.flatten import Leaves, flatten
from samerun.tensor_files.folders import describe_fault, read_folder
from samerun.tensor_files.numpy_arrays import read_npy, read_npz
from samerun.tensor_files.refused import Refused
from samerun.tensor_files.safetensors import read_safetensors
from samerun.tensor_files.stored_bytes import Stored, open_stored
from samerun.tensor_files.tensor import Tensor
from samerun.tensor_files.torch_files import read_torch

_TORCH = frozenset({".pt", ".pth", ".ckpt", ".bin", ".pkl"})
SUFFIXES = _TORCH | {".safetensors", ".npz", ".npy"}
_MOST_JSON = 8 << 20  # bytes
_LARGEST_RATIO = 100  # of what tensors claim to what is on the disk
_ALWAYS = 256 << 20  # bytes that tensors may claim


@dataclass(frozen=True)
class Contents:
    """What a file or a folder holds."""

    leaves: Leaves
    left_out: tuple[str, ...] = ()  # files of the folder that are none of a checkpoint


def read_contents(path: Path) -> Contents:
    """The leaves of a file or a folder; elements are read later, as `Tensor.chunks` is called.

    Raises TensorFileError, which says why, for one that is damaged, too large, or names code.
    """
    try:
        if path.is_dir():
            folder = read_folder(path, SUFFIXES | {".json"}, _read_inner)
            contents, size = Contents(folder.leaves, tuple(folder.left_out)), folder.size
        else:
            stored = open_stored(path, follow=True)
            contents, size = Contents(_read(stored, path.suffix)), stored.size
        _check_claims(contents.leaves, size)
        return contents
    except Exception as error:
        raise explain(path, error) from error


def explain(path: Path, error: Exception) -> TensorFileError:
    """What to say of an error that reading a file led to."""
    if isinstance(error, TensorFileError):
        return error
    if isinstance(error, OSError):
        text = f"{error.filename or path} could not be read: {error.strerror or error}"
    else:
        text = f"{path} is not read: {describe_fault(error)}. Save it again as plain values and tensors."
    return TensorFileError("".join(letter if letter.isprintable() else "?" for letter in text))


def _read_inner(stored: Stored, suffix: str) -> Leaves:
    return _read_json(stored) if suffix == ".json" else _read(stored, suffix)


def _read(stored: Stored, suffix: str) -> Leaves:
    start = stored.read_at(0, min(stored.size, 16))
    if suffix == ".safetensors":
        return read_safetensors(stored)
    if start.startswith(b"\x93NUMPY"):
        return read_npy(stored)
    if suffix == ".npz":
        return read_npz(stored)
    if suffix in _TORCH or start.startswith((b"PK", b"\x80")):
        return read_torch(stored)
    raise ValueError(
        f"it is no file of tensors that samerun knows: {', '.join(sorted(SUFFIXES))}, or a folder"
    )


def _read_json(stored: Stored) -> Leaves:
    """The values of a settings file. Raises Refused for one that is none, such as a long vocabulary."""
    if stored.size > _MOST_JSON:
        raise Refused(f"it has {stored.size} bytes; at most {_MOST_JSON} of JSON are read")
    try:
        return flatten(untrusted.parse_json(stored.read_at(0, stored.size).decode("utf-8")), None)
    except ValueError as error:
        raise Refused(f"its JSON is not read: {error}") from None


def _check_claims(leaves: Leaves, size: int) -> None:
    """Raise ValueError where views of a few bytes claim to be far more."""
    tensors = [leaf for leaf in leaves.values() if isinstance(leaf, Tensor)]
    claimed = sum({(each.place or id(each), each.shape): each.bytes for each in tensors}.values())
    if claimed > max(_ALWAYS, _LARGEST_RATIO * size):
        raise ValueError(f"its tensors claim {claimed} bytes, and it has {size}")
