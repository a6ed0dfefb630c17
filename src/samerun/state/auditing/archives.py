"""A checkpoint on the disk: one file or a folder of them, of which only the outlines are read."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, BinaryIO, Final

from samerun.errors import StateError
from samerun.tensor_files.pickles import Sketch, read_pickle
from samerun.tensor_files.safetensors import read_header
from samerun.tensor_files.torch_files import find_outline

_LARGEST: Final = 1 << 28  # bytes; an outline is far smaller, and a zip file can claim any size


@dataclass
class AuditedFiles:
    """What an audit was given: a tree, or a folder whose files are read when asked for."""

    tree: Any = None
    path: Path | None = None
    files: tuple[str, ...] = ()  # of a folder: everything in it, two levels deep, as "a" or "a/b"
    _read: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, path: Path) -> AuditedFiles:
        """Raises StateError for what is not there or is no checkpoint."""
        if path.is_dir():
            found = sorted(path.iterdir())
            inner = [each for folder in found if folder.is_dir() for each in sorted(folder.iterdir())]
            return cls(path=path, files=tuple(str(each.relative_to(path)) for each in (*found, *inner)))
        return cls(tree=read_file(path), path=path)

    def matching(self, *patterns: str) -> list[str]:
        """The files of a folder whose names match one of the patterns."""
        return [name for name in self.files if any(fnmatch(name, pattern) for pattern in patterns)]

    def read(self, name: str) -> Any:
        """The outline of a file in the folder."""
        assert self.path is not None
        if name not in self._read:
            self._read[name] = read_file(self.path / name)
        return self._read[name]

    def read_all(self, names: Iterable[str]) -> list[Any]:
        """The outlines of several."""
        return [self.read(name) for name in names]


def read_file(path: Path) -> Any:
    """The outline of a file of torch.save, pickle, safetensors or JSON.

    Raises StateError when it is none of these, or not whole.
    """
    try:
        with open(path, "rb") as file:
            return _read_outline(file, path)
    except OSError as error:
        raise StateError(f"{path} could not be read: {error.strerror or error}") from error
    except StateError:
        raise
    except Exception as error:  # whatever a damaged file makes its reader say
        raise StateError(
            f"{path} is not a whole checkpoint ({type(error).__name__}: {error}); audit() reads files of "
            "torch.save, pickle, safetensors and JSON, and folders of them"
        ) from error


def _read_outline(file: BinaryIO, path: Path) -> Any:
    start = file.read(16)
    file.seek(0)
    if start.startswith(b"PK"):
        return _read_zipped(file)
    if path.suffix == ".safetensors":
        return _read_safetensors(file)
    if start.lstrip()[:1] in (b"{", b"["):
        return json.loads(file.read(_LARGEST))
    return read_pickle(file)


def _read_zipped(file: BinaryIO) -> Any:
    with zipfile.ZipFile(file) as archive:
        return read_pickle(io.BytesIO(archive.read(find_outline(archive))))


def _read_safetensors(file: BinaryIO) -> dict[str, Sketch]:
    def read_at(at: int, count: int) -> bytes:
        file.seek(at)
        return file.read(count)

    return {name: Sketch(entry.dtype, entry.shape, "cpu") for name, entry in read_header(read_at).items()}
