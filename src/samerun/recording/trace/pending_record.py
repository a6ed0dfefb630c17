"""One record on its way to the disk, whose digests may still be on a device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from xxhash import xxh3_64_intdigest, xxh3_128_digest

from samerun import digest
from samerun.recording.trace.tensor_digests import FINGERPRINT, NOTHING, NoBytes, Slot

_NO_BYTES = frozenset({FINGERPRINT, NOTHING})
_MOST_SAID = 8  # parts without bytes that one record names


class Row(NamedTuple):
    """A record whose digests may still be on a device."""

    columns: dict[str, Any]
    parts: bytes | Sequence[bytes | Slot] | None
    keep_parts: bool
    loss: torch.Tensor | None
    apart: tuple[bytes | Slot, bytes | Slot] | None = None

    def drops(self) -> bool:
        """Whether it is none after all: it was to be of two digests that differ."""
        return self.apart is not None and fill_part(self.apart[0]) == fill_part(self.apart[1])

    def settled(self) -> dict[str, Any]:
        """The columns, with the digests filled in."""
        row = self.columns
        if self.apart is not None:
            row["digest"] = fill_part(self.apart[1])
        if self.parts is not None:
            joined = join(self.parts)
            if FINGERPRINT in joined and "detail" not in row and not isinstance(self.parts, bytes):
                said = [part.said for part in self.parts if isinstance(part, NoBytes)]
                row["detail"] = json.dumps({"without_bytes": said[:_MOST_SAID]})
            if not _is_without_bytes(joined):
                alone = len(joined) == 16 and not self.keep_parts
                row["digest"] = joined if alone else digest.digest_bytes(joined)
            if self.keep_parts:
                row["parts"] = joined
        return row


# An operation that ran: step, phase, name, module, call site, digests of what it put out and of the tensors
# that it was given, the other values that it was given, flags and detail. A plain tuple, since it is made
# between two operations, where every microsecond counts; the rest can wait.
Done = tuple[
    int,
    str,
    str,
    "str | None",
    "str | None",
    "bytes | Sequence[bytes | Slot]",
    "bytes | Sequence[bytes | Slot]",
    "Sequence[Any]",
    int,
    "str | None",
]


def pack_parts(parts: Sequence[bytes | Slot]) -> bytes | Sequence[bytes | Slot]:
    """Digests in one piece, which no collector of garbage needs to see, unless a device still has some."""
    try:
        return b"".join(parts)  # type: ignore[arg-type]
    except TypeError:  # a slot among them
        return parts


def digest_outputs(parts: bytes | Sequence[bytes | Slot]) -> bytes | None:
    """The digest of all that an operation put out; None where there is not one byte behind that."""
    joined = join(parts)
    if _is_without_bytes(joined):
        return None
    return joined if len(joined) == 16 else xxh3_128_digest(joined)


def digest_inputs(tensors: bytes | Sequence[bytes | Slot], values: Sequence[Any]) -> int | None:
    """The digest of all that it was given."""
    joined = join(tensors)
    if values:
        joined += xxh3_128_digest(repr(values).encode())
    return xxh3_64_intdigest(joined) if joined else None


def fill_part(part: bytes | Slot) -> bytes:
    """The digest of a part, which its device must have handed over."""
    if isinstance(part, bytes):
        return part
    if part.value is None:
        raise RuntimeError("a digest was asked for before its device handed it over")
    return part.value


def join(parts: bytes | Sequence[bytes | Slot]) -> bytes:
    """Digests one after the other, which their devices must have handed over."""
    joined = parts if isinstance(parts, bytes) else pack_parts(parts)
    return joined if isinstance(joined, bytes) else b"".join(map(fill_part, joined))


def _is_without_bytes(joined: bytes) -> bool:
    """Whether there is not one byte behind a record, which must not count as equal then."""
    if joined and joined[:16] not in _NO_BYTES:
        return False
    return all(joined[at : at + 16] in _NO_BYTES for at in range(16, len(joined), 16))
