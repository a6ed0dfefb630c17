"""Which steps are recorded at tier `ops`: the recorder of operations, turned on and off as they go by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from samerun.recording.ops import (
    compiled,
    extensions,
    jit_trace,
    object_collectives,
    tensor_creation,
    triton_kernels,
)
from samerun.recording.ops.dispatch_mode import Operations
from samerun.recording.ops.external_writes import Watch
from samerun.recording.recorder import Recorder
from samerun.recording.trace.pending_record import PendingRecord
from samerun.wrapping import wrap_attribute


class Window:
    """Turns tier ops on and off as the steps go by."""

    def __init__(self, recorder: Recorder, path: Callable[[], str | None]) -> None:
        self.recorder = recorder
        self.mode = Operations(recorder, path)
        if recorder.plan.window is not None:  # the whole of a run is not hashed twice
            self.mode.watch = recorder.watch = Watch(recorder.sink.tensors, self.mode.memory, recorder.named)
        self._on = False
        self.move()

    def move(self) -> None:
        """After each step, and once at the start."""
        self.mode.forget()
        first, last = self.recorder.plan.window or (-1, 1 << 62)
        step = self.recorder.cursor.step
        due = max(first, 0) <= step <= last + 1  # the evaluation after `last` still belongs to it
        if due and not self._on and not _get_current_dispatch_mode_stack():
            self.mode.__enter__()  # type: ignore[no-untyped-call]
            self._on = True
            self.recorder.sink.write(PendingRecord("window", "open"))
        elif self._on and not due and _get_current_dispatch_mode_stack()[-1:] == [self.mode]:
            self.mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._on = False
            self.recorder.sink.write(PendingRecord("window", "close"))
        if self.mode.watch is not None:
            self.mode.watch.turn(on=self._on, next_=not self._on and max(first, 0) <= step + 1 <= last + 1)


def observe(recorder: Recorder, path: Callable[[], str | None]) -> None:
    """Record operations in the plan's window."""
    window = Window(recorder, path)
    recorder.after_step.append(window.move)
    recorder.after_batch.append(window.mode.memory.doubt)
    tensor_creation.observe(window.mode)

    compiled.observe(window.mode)
    if not compiled.IS_COMPILED:
        wrap_attribute(torch, "compile", _run_eagerly(recorder))
    triton_kernels.observe(window.mode)
    extensions.observe(window.mode)
    jit_trace.observe(window.mode)
    object_collectives.observe(recorder.cursor)


def _run_eagerly(
    recorder: Recorder,
) -> Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]:
    """torch.compile as an older torch has it under a dispatch mode."""

    def compile_(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorder.journal.note(
            "note",
            "compile-eager",
            detail="torch.compile runs in eager mode while operations are recorded",
        )
        if kwargs.get("fullgraph"):  # which would be an error where nothing is compiled
            kwargs = {**kwargs, "fullgraph": False}
        return original(*args, **kwargs)

    return compile_
