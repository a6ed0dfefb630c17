"""Folders of checkpoints: shards of one model, and what a framework puts beside them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from samerun.runs import untrusted
from samerun.tensor_files.distributed import INDEX, read_distributed
from samerun.tensor_files.flatten import Leaves, Unread, add_leaf
from samerun.tensor_files.refused import Refused
from samerun.tensor_files.stored_bytes import Bytes, Stored, open_stored

_MOST_FILES = 4096
_MOST_JSON = 16 << 20  # bytes
_DEEPEST = 4  # folders in one another
_SHARD = re.compile(r".+-\d+-of-\d+\.(safetensors|bin|pt|pth)")
_WEIGHTS = re.compile(r"(model|pytorch_model|adapter_model)\.(safetensors|bin)")
_INDEX = re.compile(r".+\.index(\.\w+)?\.json")


@dataclass
class Folder:
    """What was read of one."""

    leaves: Leaves = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)  # files that are none of a checkpoint
    size: int = 0  # bytes of all files


Read = Callable[[Stored, str], Leaves]  # of an open file with a suffix


def read_folder(folder: Path, suffixes: frozenset[str], read: Read) -> Folder:
    """What is in the files that have one of the suffixes.

    Names of a model's weights are as in their file; others begin with the name of the file. Raises
    ValueError for a folder with no such file, or without a shard that its index names, and OSError.
    """
    found = Folder()
    for path in _list_files(folder):
        found.size += path.lstat().st_size if not _is_in_cache(folder, path) else path.stat().st_size
        name = path.relative_to(folder).as_posix()
        if path.suffix == ".distcp" or _INDEX.fullmatch(path.name):
            if path.suffix == ".json":
                _check_shards(folder, path)
            continue
        if path.name != INDEX and path.suffix not in suffixes:
            found.left_out.append(name)
            continue
        of_weights = _SHARD.fullmatch(name) or _WEIGHTS.fullmatch(name) or name == INDEX
        start = "" if of_weights else f"{name.removesuffix(f'/{INDEX}')}/"
        for inner, leaf in _read(folder, path, read).items():
            add_leaf(found.leaves, f"{start}{inner}" if inner else name, leaf)
    if not found.leaves:
        raise ValueError("it is a folder without a file of tensors")
    return found


def _read(folder: Path, path: Path, read: Read) -> Leaves:
    try:
        stored = open_stored(path, follow=_is_in_cache(folder, path))
        if path.name != INDEX:
            return read(stored, path.suffix)
        opened: dict[str, Bytes] = {}

        def open_part(name: str) -> Bytes:
            if Path(name).name != name:
                raise ValueError(f"a file {name[:200]!r}, which is not in the folder")
            if name not in opened:
                opened[name] = open_stored(path.parent / name, follow=False)
            return opened[name]

        return read_distributed(stored, open_part)
    except Refused as error:
        return {"": Unread(untrusted.digest_file(path), str(error))}
    except OSError:
        raise
    except Exception as error:  # whatever a damaged file makes its reader say
        raise ValueError(f"{path.relative_to(folder)}: {describe_fault(error)}") from error


def describe_fault(error: Exception) -> str:
    """In one phrase what is wrong with a file, from the error that its reader raised."""
    if type(error) in (ValueError, Refused):
        return str(error)[:500]
    return f"it is damaged ({type(error).__name__}: {str(error)[:500]})"


def _is_in_cache(folder: Path, path: Path) -> bool:
    """Whether it is a link of a Hugging Face cache: models--…/snapshots/…/file to models--…/blobs/…"""
    return path.is_symlink() and path.resolve().parent == folder.resolve().parent.parent / "blobs"


def _check_shards(folder: Path, path: Path) -> None:
    """Raise ValueError where a shard that the index names is not there."""
    with untrusted.open_file(path, _MOST_JSON, follow=_is_in_cache(folder, path)) as file:
        index = untrusted.parse_json(file.read().decode("utf-8"))
    named = index.get("weight_map") if isinstance(index, dict) else None
    for shard in sorted({str(each) for each in named.values()} if isinstance(named, dict) else ()):
        if Path(shard).name != shard or not os.path.lexists(path.parent / shard):
            raise ValueError(f"{path.name} names the shard {shard[:200]!r}, which is not in the folder")


def _list_files(folder: Path) -> Iterator[Path]:
    """All files, those of a folder in the order of their names; links to folders are not followed."""
    waiting, count = [(folder, 0)], 0
    while waiting:
        here, depth = waiting.pop()
        with os.scandir(here) as found:
            entries = []
            for entry in found:
                entries.append(entry)
                count += 1
                if count > _MOST_FILES:
                    raise ValueError(f"a folder of more than {_MOST_FILES} files; name one of them")
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)
            elif depth >= _DEEPEST:
                raise ValueError(f"folders more than {_DEEPEST} deep; name one of them")
            elif entry.name != ".git":
                waiting.append((Path(entry.path), depth + 1))
