"""Memory that nothing has written: the lines that allocate it, and the operations that read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from samerun.recording.ops.digest_cache import Memory, get_storage
from samerun.recording.ops.op_schema import Operation, list_tensors
from samerun.recording.recorder import Recorder
from samerun.recording.trace.pending_record import PendingRecord


class UnwrittenMemory:
    """Knows the line behind the memory that `memory` holds for unwritten."""

    def __init__(self, memory: Memory, recorder: Recorder, site: Callable[[], str | None]) -> None:
        self._memory = memory
        self._recorder = recorder
        self._site = site  # the line of the user's code that runs now
        self._lines: dict[int, str | None] = {}  # address of memory as it was allocated → line
        self._partly: set[str | None] = set()  # the reported lines whose memory was written in part only

    def forget(self) -> None:
        """At the end of a step."""
        self._lines = {at: self._lines.get(at) for at in self._memory.unwritten}

    def made(self, tensor: torch.Tensor, site: str | None) -> None:
        """An operation at this line allocated it, or more of it, and wrote nothing there."""
        self._memory.left_unwritten(tensor)
        if (storage := get_storage(tensor)) is not None:
            self._lines[storage.data_ptr()] = site

    def watch_growth(self, call: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """A resize that knows whether there is memory now that nothing has written."""

        def measure(tensor: torch.Tensor) -> tuple[torch.UntypedStorage, int] | None:
            storage = get_storage(tensor)
            return None if storage is None else (storage, storage.nbytes())

        def compare(tensor: torch.Tensor, before: torch.UntypedStorage, nbytes: int) -> None:
            if get_storage(tensor) is before and before.nbytes() > nbytes:
                self.made(tensor, self._site())

        measured, compared = self._recorder.guard(measure), self._recorder.guard(compare)

        def moved(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            before = measured(tensor)
            result = call(tensor, *args, **kwargs)
            if before is not None:
                compared(tensor, *before)
            return result

        return moved

    def written_to(self, tensors: Sequence[torch.Tensor]) -> None:
        """Report memory that is now written in part: what is left may be read with the rest of it."""
        for tensor in tensors:
            if self._memory.is_unwritten(tensor):
                storage = tensor.untyped_storage()
                site = self._lines.get(storage.data_ptr())
                if tensor.nbytes < storage.nbytes() and site not in self._partly:
                    self._partly.add(site)
                    self._recorder.sink.write(PendingRecord("unwritten", "torch.empty", call_site=site))

    def made_at(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The line that allocated the memory which an operation read though nothing had written it."""
        given = [tensor for value in (*args, *kwargs.values()) for tensor in list_tensors(value)]
        # else it was written by the operation itself, which computed with what was there
        among = [tensor for tensor in given if self._memory.is_unwritten(tensor)] or given
        storages = (get_storage(tensor) for tensor in among)
        lines = (self._lines.get(storage.data_ptr()) for storage in storages if storage is not None)
        return next((line for line in lines if line is not None), None)

    def is_read_by(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether an operation is given such memory other than to write to it."""
        overwritten = () if operation.computes else operation.writes_to(args, kwargs)
        written = {id(tensor) for tensor in overwritten}
        return any(
            id(tensor) not in written and self._memory.is_unwritten(tensor)
            for value in (*args, *kwargs.values())
            for tensor in list_tensors(value)
        )
