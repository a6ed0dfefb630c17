"""One checkpoint, one file per rank: which files there are, and whether they are of one save.

Every rank writes its file under a temporary name before any rank gives its file the real one. So when a kill
falls between the first and the last of these renamings, the files of the newer save are all there, some under
either name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from samerun.errors import StateError
from samerun.state import files

_RANK: Final = r"\.rank(\d+)-of-(\d+)"
_ALONE: Final = "alone"  # stands for a save that the ranks did not agree on


def name_file(path: Path, rank: int, world_size: int) -> Path:
    """Where a rank's file is: the path itself for one rank, else `ckpt.rank2-of-4.pt` beside it."""
    if world_size == 1:
        return path
    return path.with_name(f"{path.stem}.rank{rank}-of-{world_size}{path.suffix}")


@dataclass(frozen=True)
class FileState:
    """What there is of one rank's file: the save it is of, and the newer saves under temporary names."""

    save: str | None
    waiting: tuple[str, ...] = ()

    def holds(self, save: str) -> bool:
        """Whether this rank's file of a save is there, under either name."""
        return save == self.save or save in self.waiting

    def encode(self) -> bytes:
        """For another rank."""
        return json.dumps([self.save, self.waiting]).encode()

    @classmethod
    def decode(cls, data: bytes) -> FileState:
        """What `encode` gave."""
        save, waiting = json.loads(data)
        return cls(save, tuple(waiting))


def look(path: Path) -> FileState:
    """What there is of the file of one rank at `path`."""
    # the temporary ones first: one that is renamed meanwhile is then seen twice rather than not at all
    pattern = re.compile(re.escape(f".{path.name}.") + r"([0-9a-f]{32})\.tmp\Z")
    names = [entry.name for entry in _list_beside(path)]
    waiting = [match[1] for match in map(pattern.match, names) if match is not None]
    waiting = [save for save in waiting if files.label_of(files.name_temporary(path, save)) is not None]
    label = files.label_of(path)
    if label is None:
        return FileState(None, tuple(waiting))
    return FileState(label.save if label.agreed else _ALONE, tuple(waiting))


def find_sizes(path: Path) -> dict[int, list[int]]:
    """For each number of ranks that saved at `path`: the ranks whose files are there."""
    found: dict[int, list[int]] = {1: [0]} if path.is_file() else {}
    for rank, world_size, _ in _list_others(path):
        found.setdefault(world_size, []).append(rank)
    return {size: sorted(of) for size, of in found.items()}


def choose_file(path: Path, seen: Mapping[int, FileState], rank: int, world_size: int) -> Path:
    """The file to read for a rank, given what was seen of the ranks' files.

    Raises StateError when the files are not of one save.
    """
    mine = name_file(path, rank, world_size)
    saves = {one.save for one in seen.values()} - {None}
    whole = [save for save in saves if save and all(one.holds(save) for one in seen.values())]
    if len(whole) == 1:
        (save,) = whole
        return mine if seen[rank].save == save else files.name_temporary(mine, save)
    if not saves or len(seen) == 1:
        return mine  # and reading it says what is wrong
    groups = [
        f"rank {', '.join(str(r) for r, one in seen.items() if one.save == save)} of "
        f"{'no save' if save is None else f'save {save[:8]}'}"
        for save in sorted({one.save for one in seen.values()}, key=str)
    ]
    raise StateError(
        f"the files of {path} are not of one save: {'; '.join(groups)}; files of two checkpoints were "
        "mixed, or one is damaged or missing. Take another checkpoint"
    )


def clear(path: Path, world_size: int) -> None:
    """After a save: remove what killed saves left, and the files of `path` of another number of ranks."""
    prefix = re.compile(
        re.escape(f".{path.stem}") + rf"({_RANK})?" + re.escape(path.suffix) + r"\.[0-9a-f]{32}\.tmp\Z"
    )
    for entry in _list_beside(path):
        if prefix.match(entry.name):
            files.remove_abandoned(entry)
    stale = [file for _, size, file in _list_others(path) if size != world_size]
    if world_size != 1:
        stale.append(path)
    for file in stale:
        if files.label_of(file) is not None:  # ours, and whole
            file.unlink(missing_ok=True)


def _list_others(path: Path) -> list[tuple[int, int, Path]]:
    pattern = re.compile(re.escape(path.stem) + _RANK + re.escape(path.suffix) + r"\Z")
    matches = ((pattern.match(entry.name), entry) for entry in _list_beside(path))
    return [(int(match[1]), int(match[2]), entry) for match, entry in matches if match is not None]


def _list_beside(path: Path) -> list[Path]:
    """What is in the path's folder; nothing when that cannot be listed: opening the file says why."""
    try:
        return list(path.parent.iterdir())
    except OSError:
        return []
