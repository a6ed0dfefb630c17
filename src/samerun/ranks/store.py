"""Bytes from rank to rank by a store, before there is a process group.

It is the store that `init_process_group()` will use, at MASTER_ADDR and MASTER_PORT: torchrun's agent hosts
it, or else rank 0 does. It is kept for as long as the process lives, so that the group finds it there.
Every call counts, so that each agrees anew; and the keys of a call are deleted once every rank has read them,
because an agent's store outlives a restart of its workers.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from samerun.errors import UsageError
from samerun.ranks.identity import rank, world_size

if TYPE_CHECKING:
    from torch.distributed import Store  # type: ignore[attr-defined]  # public, if not in its __all__

PATIENCE = timedelta(seconds=300)  # torch's own for a store
_PIECE = 2**20  # bytes; a store refuses values above 8 MiB
_calls = itertools.count()


def gather(data: bytes) -> list[bytes]:
    """Every rank's `data`, in the order of the ranks. Raises UsageError when one has not come in 300 s."""
    with _meet() as (store, call):
        keys = [f"{call}/{r}" for r in range(world_size())]
        _set(store, keys[rank()], data)
        _wait(store, keys)
        said = store.multi_get(keys)
        _leave(store, call, keys)
        return said


def broadcast_first(data: bytes) -> bytes:
    """Rank 0's `data`, on every rank. Raises UsageError when one has not come in 300 s."""
    with _meet() as (store, call):
        if rank() == 0:
            starts = range(0, len(data), _PIECE)
            for number, start in enumerate(starts):
                _set(store, f"{call}/piece/{number}", data[start : start + _PIECE])
            store.set(f"{call}/0", str(len(starts)))
        _wait(store, [f"{call}/0"])
        keys = [f"{call}/piece/{number}" for number in range(int(store.get(f"{call}/0")))]
        said = data if rank() == 0 else b"".join(store.get(key) for key in keys)
        _leave(store, call, [f"{call}/0", *keys])
        return said


@contextmanager
def _meet() -> Iterator[tuple[Store, int]]:
    """The store and the number of this call; what goes wrong with either is a UsageError."""
    import torch.distributed as dist

    if not dist.is_available():
        raise UsageError(f"WORLD_SIZE is {world_size()}, but this build of torch has no torch.distributed")
    try:
        yield _store(), next(_calls)
    except (RuntimeError, ValueError, OSError) as error:  # torch's DistError is a RuntimeError
        raise UsageError(
            f"rank {rank()} of {world_size()} did not meet the others at MASTER_ADDR="
            f"{os.environ.get('MASTER_ADDR')} MASTER_PORT={os.environ.get('MASTER_PORT')} "
            f"({str(error).splitlines()[0]}); start the ranks with torchrun, call this on every one of them, "
            "or call torch.distributed.init_process_group() first"
        ) from error


@functools.cache
def _store() -> Store:
    from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]  # likewise

    whole, _, _ = next(rendezvous("env://", rank(), world_size(), timeout=PATIENCE))
    run, restarts = (os.environ.get(f"TORCHELASTIC_{name}", "") for name in ("RUN_ID", "RESTART_COUNT"))
    return PrefixStore(f"samerun/{run}/{restarts}", whole)


def _set(store: Store, key: str, value: bytes) -> None:
    store.set(key, value)  # type: ignore[arg-type]  # it takes bytes, whatever its stub says


def _wait(store: Store, keys: list[str]) -> None:
    """Until every key is there."""
    try:
        store.wait(keys, PATIENCE)
    except RuntimeError as error:
        missing = [key.split("/")[1] for key in keys if not store.check([key])]
        raise RuntimeError(
            f"after {PATIENCE.total_seconds():g} s, nothing from rank {', '.join(missing[:8])}"
        ) from error


def _leave(store: Store, call: int, keys: list[str]) -> None:
    """Say that this rank has read `keys`; rank 0, which may host the store, leaves last and deletes them."""
    read = [f"{call}/{r}/read" for r in range(world_size())]
    store.set(read[rank()], "1")
    if rank() == 0:
        _wait(store, read)
        for key in (*keys, *read):
            store.delete_key(key)
