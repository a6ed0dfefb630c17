"""One state in one file: written whole or not at all, and read only when not a bit of it has changed.

The file is a zip archive of torch.save, which torch.load(weights_only=True) reads. Its comment, the last
bytes of the file, says whose it is and holds a digest of every byte before the digest's own. The content
holds the digest of the values as they were in memory. A temporary file in the same folder is written, flushed
to the disk and renamed; what is left of one by a kill is removed by the next save.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import torch
from xxhash import xxh3_128

from samerun.digest import HOST_ALGORITHM, digest_value
from samerun.errors import DigestError, StateError
from samerun.state.form import check_form

_VERSION: Final = 1
_LABEL = re.compile(
    rb"samerun-state/(\d+) rank (\d+) of (\d+), save ([0-9a-f]{32}) (agreed|alone), xxh3-128 ([0-9a-f]{32})\Z"
)
_DIGEST_LENGTH: Final = 32  # in hexadecimal
_TAIL: Final = 256  # a label is shorter
_PIECE: Final = 1 << 22


@dataclass(frozen=True)
class Label:
    """Whose state a file holds: of which rank, of which save.

    `save` is 32 hexadecimal digits; with `agreed` they are the same in the files of all ranks of one save.
    """

    rank: int
    world_size: int
    save: str
    agreed: bool


def name_temporary(path: Path, save: str) -> Path:
    """Where a file is written before it takes its name."""
    return path.with_name(f".{path.name}.{save}.tmp")


class StagedFile:
    """A file that is written and on the disk, under a temporary name."""

    def __init__(self, path: Path, content: Mapping[str, Any], label: Label) -> None:
        """Raises StateError when it cannot be written."""
        self.path = path
        self._temporary = name_temporary(self.path, label.save)
        with _translate_errors(f"{path} could not be written"):
            self._file: BinaryIO = open(self._temporary, "xb+")  # noqa: SIM115  stays open, and locked, until named
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX)
                _fill(self._file, content, label)
            except BaseException:
                self.discard()
                raise

    def publish(self) -> None:
        """Give it its name, in the place of what had it. Raises StateError when that fails."""
        with _translate_errors(f"{self.path} could not be written"):
            try:
                os.replace(self._temporary, self.path)
            except OSError:
                self.discard()
                raise
            self._file.close()
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard(self) -> None:
        """Remove it."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)


def remove_abandoned(path: Path) -> None:
    """Remove a temporary file, unless a process that is alive writes it."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    except OSError:
        pass  # being written, or already gone: not ours to remove


def label_of(path: Path) -> Label | None:
    """What the file says of itself, its content not looked at; None when it is cut short or not samerun's."""
    try:
        with open(path, "rb") as file:
            found = _label(file)
    except OSError:
        return None
    return None if found is None else found[1]


def load(path: Path) -> dict[str, Any]:
    """The state in a file. Raises StateError unless it is there, whole, and of a version known here."""
    with _translate_errors(f"{path} could not be read"), open(path, "rb") as file:
        found = _label(file)
        if found is None:
            raise StateError(
                f"{path} is not a whole file of samerun.state.save(): it was cut short or damaged, or "
                f"something else wrote it; take an older one. samerun.state.audit({str(path)!r}) says what "
                "it holds"
            )
        version, _, said = found
        _check_bytes(file, path, said)
        if version != _VERSION:
            raise StateError(
                f"{path} is of version {version}, and this samerun knows {_VERSION}; use the samerun that "
                "saved it"
            )
        file.seek(0)
        try:
            with _check_sparse():
                content = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # torch's own errors are of many types
            first = str(error).partition("\n")[0]
            raise StateError(f"{path} could not be loaded ({type(error).__name__}: {first})") from error
    check_form(content)
    if _is_other(content):
        raise StateError(f"{path} does not hold what was in memory when it was saved; take an older one")
    assert isinstance(content, dict)
    return content


def _check_sparse() -> AbstractContextManager[Any]:
    """Indices of sparse tensors are looked at in here, which torch leaves out when it loads a file."""
    check: Any = torch.sparse.check_sparse_tensor_invariants
    checked: AbstractContextManager[Any] = check(True)
    return checked


def _is_other(content: dict[str, Any]) -> bool:
    """Whether it is not what its own digest, which is taken out of it, is of."""
    said = content.pop("digest", None)
    if not isinstance(said, list) or len(said) != 2:
        return said is not None
    algorithm, digest = said
    try:
        return bool(algorithm == HOST_ALGORITHM and digest != digest_value(content))
    except DigestError:  # nothing that was saved is nested as deep
        return True


def _fill(file: BinaryIO, content: Mapping[str, Any], label: Label) -> None:
    try:
        digest = digest_value(content)
    except DigestError as error:
        raise StateError(f"the state cannot be saved: {error}") from error
    torch.save({**content, "digest": [HOST_ALGORITHM, digest]}, file)
    comment = (
        f"samerun-state/{_VERSION} rank {label.rank} of {label.world_size}, save {label.save} "
        f"{'agreed' if label.agreed else 'alone'}, xxh3-128 "
    ).encode()
    # the last two bytes of a zip archive without a comment are the comment's length
    file.seek(-2, os.SEEK_END)
    file.write((len(comment) + _DIGEST_LENGTH).to_bytes(2, "little") + comment)
    file.write(_digest(file, file.tell()))
    file.flush()
    os.fsync(file.fileno())


def _label(file: BinaryIO) -> tuple[int, Label, bytes] | None:
    """The version, the label, and the digest as the file says it."""
    file.seek(0, os.SEEK_END)
    file.seek(-min(_TAIL, file.tell()), os.SEEK_END)
    match = _LABEL.search(file.read())
    if match is None:
        return None
    version, rank, world_size, save, agreed, digest = match.groups()
    return int(version), Label(int(rank), int(world_size), save.decode(), agreed == b"agreed"), digest


def _check_bytes(file: BinaryIO, path: Path, said: bytes) -> None:
    size = file.seek(0, os.SEEK_END)
    if _digest(file, size - _DIGEST_LENGTH) != said:
        raise StateError(f"{path} is damaged: its bytes are not those that were written; take an older one")


def _digest(file: BinaryIO, end: int) -> bytes:
    """Of the first `end` bytes, in hexadecimal; leaves the file at `end`."""
    file.seek(0)
    digest = xxh3_128()
    while end:
        piece = file.read(min(_PIECE, end))
        if not piece:
            raise StateError("a file became shorter while it was read")
        digest.update(piece)
        end -= len(piece)
    return digest.hexdigest().encode()


@contextmanager
def _translate_errors(what: str) -> Iterator[None]:
    """What the system refuses is a StateError."""
    try:
        yield
    except FileNotFoundError as error:
        where = Path(error.filename).parent if error.filename else None
        missing = where is not None and not where.is_dir()
        hint = f"the folder {where} does not exist: make it first" if missing else "there is no such file"
        raise StateError(f"{what}: {hint}") from error
    except OSError as error:
        raise StateError(f"{what}: {error.strerror or error}") from error
    except RuntimeError as error:  # torch's writer, on a full disk
        raise StateError(f"{what}: {str(error).partition(chr(10))[0]}") from error
