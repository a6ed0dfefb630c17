"""Checkpoints: states in files, of one rank or of all together."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from samerun import ranks
from samerun.errors import SamerunError, StateError, UsageError
from samerun.ranks import exchange
from samerun.ranks.identity import has_group
from samerun.state import files, rank_files
from samerun.state.capturing import capture
from samerun.state.reshard import Checkpoint
from samerun.state.restoring import Restoration

_T = TypeVar("_T")
StrPath = str | os.PathLike[str]


def save(path: StrPath, /, **objects: Any) -> None:
    """Write what `capture(**objects)` gives, in the place of what was saved at `path` before.

    The new checkpoint is whole on the disk before it takes the place of the old one: a kill at any moment
    leaves one of them, whole. With several ranks every rank must call this, and `ckpt.pt` is the files
    `ckpt.rank0-of-4.pt` and so on; with a process group they are known to be of one save, and either every
    rank saves or none does. `torch.load(file, weights_only=True)` reads a file. Holds one copy of the state
    in host memory.

    Raises StateError for what cannot be captured or written.
    """
    path = _resolve(path)
    rank, world_size = ranks.rank(), ranks.world_size()
    label = files.Label(rank, world_size, _draw_token(), agreed=world_size == 1 or has_group())

    def stage() -> files.StagedFile:
        _refuse_folder(path)
        return files.StagedFile(rank_files.name_file(path, rank, world_size), capture(**objects), label)

    _do_all_or_none("saved", stage, undo=lambda staged: staged.discard()).publish()
    rank_files.clear(path, world_size)


def load(path: StrPath, /, *, other_world: bool = False, **objects: Any) -> dict[str, Any]:
    """Restore what `save` wrote at `path`, as `restore` does; return the plain values.

    With several ranks every rank must call this; each restores its own file, and with a process group either
    all of them restore or none does. A checkpoint of another number of ranks is refused with what can be
    exact and what cannot; `other_world=True` restores what was the same on all ranks, gives each rank new
    random streams, hashed from this checkpoint and the rank, and leaves out plain values that differed from
    rank to rank.

    Raises StateError, with nothing changed, for anything that is missing, damaged or does not fit.
    """
    path = _resolve(path)
    seen = _look(path)
    prepared = _do_all_or_none(
        "restored", lambda: _prepare(path, seen, objects, other_world), undo=lambda _: None
    )
    return _do_all_or_none("restored", prepared.carry_out, undo=lambda _: prepared.undo())


def _prepare(
    path: Path, seen: Mapping[int, rank_files.FileState], objects: Mapping[str, Any], other_world: bool
) -> Restoration:
    _refuse_folder(path)
    rank, world_size = ranks.rank(), ranks.world_size()
    sizes = rank_files.find_sizes(path)
    others = [size for size in sizes if size != world_size]
    own = world_size in sizes or any(one.save for one in seen.values())
    if len(others) + own > 1:
        raise StateError(
            f"at {path} there are checkpoints of {' and of '.join(map(str, sorted(sizes)))} ranks; remove "
            "those that are not meant"
        )
    if own or not others:
        state = files.load(rank_files.choose_file(path, seen, rank, world_size))
        restoration = Restoration(state, objects)
    else:
        checkpoint = _read_all(path, others[0])
        if not other_world:
            raise StateError(f"nothing was restored from {path}: {checkpoint.refusal(world_size)}")
        restoration = checkpoint.restoration(objects, rank, world_size)
    restoration.check()
    return restoration


def _read_all(path: Path, world_size: int) -> Checkpoint:
    """The checkpoint of another number of ranks, of which every file must be here."""
    seen = {rank: rank_files.look(rank_files.name_file(path, rank, world_size)) for rank in range(world_size)}
    of = [rank_files.choose_file(path, seen, rank, world_size) for rank in range(world_size)]
    label = files.label_of(of[0])
    return Checkpoint.of(map(files.load, of), "0" if label is None else label.save)


def _look(path: Path) -> dict[int, rank_files.FileState]:
    """What there is of each rank's file: as each rank says, or without a group as this disk shows."""
    rank, world_size = ranks.rank(), ranks.world_size()
    mine = rank_files.look(rank_files.name_file(path, rank, world_size))
    if world_size > 1 and has_group():
        return dict(enumerate(map(rank_files.FileState.decode, _gather("samerun.state.load", mine.encode()))))
    seen = {
        other: rank_files.look(rank_files.name_file(path, other, world_size)) for other in range(world_size)
    }
    return {other: one for other, one in seen.items() if one.save or one.waiting or other == rank}


def _draw_token() -> str:
    """What all files of one save have in common."""
    token = secrets.token_bytes(16)
    if ranks.world_size() > 1 and has_group():
        token = _ask(lambda: exchange.broadcast_first(token))
    return token.hex()


def _do_all_or_none(done: str, work: Callable[[], _T], undo: Callable[[_T], object]) -> _T:
    """This rank's part of what every rank does or none; `undo` takes it back when another rank could not do
    its own.

    Raises this rank's own error, or StateError with what the others said.
    """
    try:
        result = work()
    except Exception as error:
        _gather_problems(f"{type(error).__name__}: {error}")
        raise
    try:
        said = _gather_problems("")
    except BaseException:
        undo(result)
        raise
    if said:
        undo(result)
        raise StateError(f"nothing was {done}: {'; '.join(said)}")
    return result


def _gather_problems(mine: str) -> list[str]:
    """What each rank that has a problem says of it."""
    if ranks.world_size() == 1 or not has_group():
        return []
    said = _gather("samerun.state", mine.encode("utf-8", "replace"))
    return [f"rank {rank}: {one.decode()}" for rank, one in enumerate(said) if one]


def _gather(call: str, data: bytes) -> list[bytes]:
    return _ask(lambda: exchange.gather(call, data))


def _ask(question: Callable[[], _T]) -> _T:
    try:
        return question()
    except (SamerunError, RuntimeError) as error:  # torch's DistError is a RuntimeError
        raise StateError(
            f"rank {ranks.rank()} could not reach the others ({error}); every rank must call save() and "
            "load()"
        ) from error


def _resolve(path: StrPath) -> Path:
    """Where links lead to: a link to a checkpoint stays one when it is saved."""
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"a path is a string or a Path, not {path!r}; pass where the checkpoint is")
    return Path(os.path.realpath(path))


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        raise StateError(f"{path} is a folder; pass the path of a file in it, such as {path / 'ckpt.pt'}")
