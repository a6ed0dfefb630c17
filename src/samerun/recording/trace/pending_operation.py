"""One operation on its way to the disk: the least that is done between two operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from xxhash import xxh3_64_intdigest, xxh3_128_digest

from samerun.recording.trace.pending_record import is_without_bytes, join
from samerun.recording.trace.tensor_digests import Slot
from samerun.runs.record import Record


class PendingOperation(msgspec.Struct, gc=False):
    """An operation: what it was given is known before it runs, the rest after.

    It is made where every microsecond counts: a Struct takes a third of a named tuple's time to make, and the
    collector of garbage never looks at it. Digests are best given in one piece: see `pack_parts`.
    """

    name: str
    module: str | None
    call_site: str | None
    tensors: bytes | Sequence[bytes | Slot]  # the digests of the tensors that it was given
    values: Sequence[Any] = ()  # the other values that it was given
    flags: int = 0
    step: int = 0
    phase: str = ""
    parts: bytes | Sequence[bytes | Slot] = b""  # the digests of what it put out
    detail: str | None = None

    def settle(self) -> Record:
        """The record with its digests, which their devices must have handed over."""
        return Record(
            self.step,
            self.phase,
            "operation",
            self.name,
            self.module,
            self.call_site,
            _digest_outputs(self.parts),
            _digest_inputs(self.tensors, self.values),
            None,
            self.flags,
            self.detail,
        )


def _digest_outputs(parts: bytes | Sequence[bytes | Slot]) -> bytes | None:
    """The digest of all that an operation put out; None where there is not one byte behind that."""
    joined = join(parts)
    if is_without_bytes(joined):
        return None
    return joined if len(joined) == 16 else xxh3_128_digest(joined)


def _digest_inputs(tensors: bytes | Sequence[bytes | Slot], values: Sequence[Any]) -> int | None:
    """The digest of all that it was given."""
    joined = join(tensors)
    if values:
        joined += xxh3_128_digest(repr(values).encode())
    return xxh3_64_intdigest(joined) if joined else None
