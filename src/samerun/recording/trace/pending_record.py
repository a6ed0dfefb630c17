"""One record on its way to the disk, whose digests may still be on a device."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from samerun import digest
from samerun.recording.trace.tensor_digests import FINGERPRINT, NOTHING, NoBytes, Slot
from samerun.runs.record import Record

_NO_BYTES = frozenset({FINGERPRINT, NOTHING})
_MOST_DESCRIBED = 8  # parts without bytes that one record names


@dataclass(slots=True)
class PendingRecord:
    """A record whose digests may still be on a device; the columns are those of runs/schema.py."""

    what: str
    name: str | None = None
    step: int | None = None  # None: of the step and phase in which it is written
    phase: str | None = None
    module: str | None = None
    call_site: str | None = None
    digest: bytes | None = None
    inputs: int | None = None
    flags: int = 0
    detail: str | None = None
    parts: bytes | Sequence[bytes | Slot] | None = None  # the digest is that of these
    keep_parts: bool = False  # they are written too, one by one
    keys: Sequence[str] | None = None  # of the parts: inputs are the sum of both's digests, in any order
    sample: bytes | None = None  # written in the place of parts
    loss: torch.Tensor | None = None  # of one element, for people
    apart: tuple[bytes | Slot, bytes | Slot] | None = None  # dropped when these two turn out equal

    def drops(self) -> bool:
        """Whether it is none after all: it was to be of two digests that differ."""
        return self.apart is not None and fill_part(self.apart[0]) == fill_part(self.apart[1])

    def settle(self, value: float | None) -> Record:
        """The record with its digests filled in, and with this value of its loss."""
        digest_, parts, detail, inputs = self.digest, self.sample, self.detail, self.inputs
        if self.apart is not None:
            digest_ = fill_part(self.apart[1])
        if self.parts is not None:
            joined = join(self.parts)
            if FINGERPRINT in joined and detail is None and not isinstance(self.parts, bytes):
                described = [part.described for part in self.parts if isinstance(part, NoBytes)]
                detail = json.dumps({"without_bytes": described[:_MOST_DESCRIBED]})
            if not is_without_bytes(joined):
                alone = len(joined) == 16 and not self.keep_parts
                digest_ = joined if alone else digest.digest_bytes(joined)
            if self.keep_parts:
                parts = joined
            if self.keys is not None:
                inputs = _sum_up(self.keys, joined)
        return Record(
            self.step or 0,
            self.phase or "setup",
            self.what,
            self.name,
            self.module,
            self.call_site,
            digest_,
            inputs,
            value,
            self.flags,
            detail,
            parts,
        )


def _sum_up(keys: Sequence[str], joined: bytes) -> int:
    """64 bits that stand for these digests under these keys, in whatever order they come."""
    each = (digest.digest_bytes(joined[16 * n : 16 * n + 16], key) for n, key in enumerate(keys))
    return sum(int.from_bytes(one[:8], "little") for one in each) & (2**64 - 1)


def pack_parts(parts: Sequence[bytes | Slot]) -> bytes | Sequence[bytes | Slot]:
    """Digests in one piece, which no collector of garbage needs to see, unless a device still has some."""
    try:
        return b"".join(parts)  # type: ignore[arg-type]
    except TypeError:  # a slot among them
        return parts


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


def is_without_bytes(joined: bytes) -> bool:
    """Whether there is not one byte behind a record, which must not count as equal then."""
    if joined and joined[:16] not in _NO_BYTES:
        return False
    return all(joined[at : at + 16] in _NO_BYTES for at in range(16, len(joined), 16))
