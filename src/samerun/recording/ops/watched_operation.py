"""One operation in a window: what it reads is hashed again, and once more when it has returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from samerun.recording.ops.digest_cache import Memory
from samerun.recording.ops.external_writes import Place, Read, Watch
from samerun.recording.ops.op_schema import Operation, list_tensors
from samerun.recording.trace.tensor_digests import Slot


class WatchedOperation:
    """An operation at a place, and what it read there, as it was then."""

    def __init__(self, watch: Watch, memory: Memory, here: Place) -> None:
        self._watch = watch
        self._memory = memory
        self._here = here
        self._read: list[Read] = []

    def digest(self, tensor: torch.Tensor) -> bytes | Slot:
        """The digest of an input that is hashed again, whatever is known of it."""
        fresh = self._watch.read(tensor, self._here)
        if fresh is not None:
            self._read.append(Read(tensor, fresh))
        if isinstance(fresh, Slot) and not self._memory.is_unwritten(tensor):
            return fresh
        return self._memory.input(tensor)  # as it is without a window, so that both can be compared

    def finish(
        self,
        operation: Operation,
        result: Any,
        put_out: Sequence[torch.Tensor],
        parts: Sequence[bytes | Slot],
    ) -> None:
        """It has returned, and left these tensors with these digests in memory."""
        watch, here = self._watch, self._here
        for tensor, digest in zip(put_out, parts, strict=False):  # a number is a part too, the last one
            watch.wrote(tensor, digest, here)
        if operation.unwritten:
            for tensor in list_tensors(result):
                watch.left_unwritten(tensor, here)
        known = set(map(id, put_out))
        read = [item for item in self._read if id(item.tensor) not in known]
        watch.left(read, here, not operation.trusted)
