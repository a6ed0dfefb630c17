"""Memory that nothing has written: the lines that allocate it, and the operations that read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from samerun.recording.ops.digest_cache import Memory, get_storage
from samerun.recording.ops.op_schema import Operation, list_tensors
from samerun.recording.recorder import Recorder
from samerun.recording.trace.pending_record import PendingRecord

_MOST_BYTES = 16 << 20  # of one piece of memory that is kept until the end of a step
_MOST = 256  # such pieces


class _Partly:
    """Memory of which some was written."""

    def __init__(self, storage: torch.UntypedStorage, site: str | None) -> None:
        self.storage = storage  # kept alive: its address stays its own
        self.site = site  # the line that allocated it
        self._written: list[tuple[int, int]] = []  # from where to where, apart from each other, in order

    def write(self, start: int, end: int) -> bool:
        """Note that this was written; whether all of it was by now."""
        merged: list[tuple[int, int]] = []
        for one, two in sorted([*self._written, (start, end)]):
            if merged and one <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(two, merged[-1][1])
            else:
                merged.append((one, two))
        self._written = merged
        begins = self.storage.data_ptr()
        return merged[0][0] <= begins and merged[0][1] >= begins + self.storage.nbytes()

    def holds(self, start: int, end: int) -> bool:
        """Whether all of this was written."""
        return any(one <= start and end <= two for one, two in self._written)


class UnwrittenMemory:
    """Knows the line behind the memory that `memory` holds for unwritten."""

    def __init__(self, memory: Memory, recorder: Recorder, site: Callable[[], str | None]) -> None:
        self._memory = memory
        self._recorder = recorder
        self._site = site  # the line of the user's code that runs now
        self._lines: dict[int, str | None] = {}  # address of memory as it was allocated → line
        self.partly: dict[int, _Partly] = {}  # by the address
        self._reported: set[str | None] = set()  # the lines whose memory was written in part only

    def forget(self) -> None:
        """At the end of a step; what is not written by then is reported."""
        for memory in self.partly.values():
            self._report(memory.site)
        self.partly.clear()
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
        """Know what is written now of such memory: what is left may be read with the rest of it."""
        for tensor in tensors:
            storage = get_storage(tensor)
            if storage is None:
                continue
            begins = storage.data_ptr()
            if self._memory.is_unwritten(tensor) and tensor.nbytes < storage.nbytes():
                site = self._lines.get(begins)
                if storage.nbytes() > _MOST_BYTES or len(self.partly) >= _MOST:
                    self._report(site)  # it is not to live longer than the script has it
                else:
                    self.partly[begins] = _Partly(storage, site)
            memory = self.partly.get(begins)
            if memory is not None:
                start = tensor.data_ptr()
                if not tensor.is_contiguous():  # which parts those are is not followed
                    self._report(memory.site)
                    del self.partly[begins]
                elif memory.write(start, start + tensor.nbytes):
                    del self.partly[begins]

    def _look_at_read(self, tensors: Iterable[torch.Tensor]) -> None:
        """Report memory that is read, and was not written in all the parts that are."""
        for tensor in tensors:
            storage = get_storage(tensor)
            memory = None if storage is None else self.partly.get(storage.data_ptr())
            if memory is not None:
                start = tensor.data_ptr()
                end = start + tensor.nbytes if tensor.is_contiguous() else start
                if not memory.holds(start, end):
                    self._report(memory.site)

    def _report(self, site: str | None) -> None:
        if site not in self._reported:
            self._reported.add(site)
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
        overwritten = [] if operation.computes else operation.writes_to(args, kwargs)
        if operation.receives and args:
            overwritten = list_tensors(args[0])
        written = {id(tensor) for tensor in overwritten}
        read = [
            tensor
            for value in (*args, *kwargs.values())
            for tensor in list_tensors(value)
            if id(tensor) not in written
        ]
        if self.partly:
            self._look_at_read(read)
        return any(map(self._memory.is_unwritten, read))
