"""Which parameters the ranks of a training are to hold alike: those of DistributedDataParallel."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from samerun import callsite
from samerun.recording.recorder import Recorder
from samerun.recording.trace.pending_record import PendingRecord
from samerun.wrapping import SELF, wrap_attribute


class Replicas:
    """Knows the modules that DistributedDataParallel wraps."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._made: list[tuple[weakref.ref[Any], str | None]] = []  # with the line that made it
        self._reported: dict[str, int] = {}  # optimizer to how many there were then

    def made(self, module: Any) -> None:
        """A module was wrapped."""
        frame = callsite.find_user_frame(2)
        self._made.append((weakref.ref(module), None if frame is None else callsite.call_site(frame)))

    def stepped(self, label: str, parameters: Sequence[torch.Tensor]) -> None:
        """An optimizer made a step: write once which of its parameters are to be alike, on which ranks."""
        if self._reported.get(label) == len(self._made) or not _are_several():
            return
        self._reported[label] = len(self._made)
        for reference, site in reversed(self._made):
            module = reference()
            if module is None:
                continue
            ignored = set(getattr(module, "parameters_to_ignore", ()))
            own = {id(p) for name, p in module.module.named_parameters() if name not in ignored}
            parts = [number for number, parameter in enumerate(parameters) if id(parameter) in own]
            if parts:
                ranks = distributed.get_process_group_ranks(module.process_group)
                self._write(label, site, ranks, parts)
                return
        self._write(label, self._recorder.cursor.site, [], [])

    def _write(self, label: str, site: str | None, ranks: list[int], parts: list[int]) -> None:
        detail = json.dumps({"ranks": ranks, "parts": parts})
        self._recorder.sink.write(PendingRecord("replicas", label, call_site=site, detail=detail))


def _are_several() -> bool:
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def observe(recorder: Recorder) -> Replicas:
    """Hear of each module that is wrapped."""
    replicas = Replicas(recorder)
    made = recorder.guard(replicas.made)

    def init(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = original(*args, **kwargs)
        made(SELF.of(args, kwargs))
        return result

    wrap_attribute(DistributedDataParallel, "__init__", init)
    return replicas
