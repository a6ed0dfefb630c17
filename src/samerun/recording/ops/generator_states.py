"""The generator of torch's that an operation draws from: its state before, and whether the draw moved it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from samerun.recording.ops.op_schema import list_tensors, own_generator
from samerun.recording.rng_states import RngStates
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.sink import TraceSink
from samerun.recording.trace.tensor_digests import Slot


class Draw(NamedTuple):
    """What an operation that can draw did."""

    generator: str | None  # a source id; with ":generator" one that the script made
    moved: bool  # whether the state is another than before


class GeneratorStates:
    """Asks the generators before and after each draw."""

    def __init__(self, rngs: RngStates, sink: TraceSink) -> None:
        self._rngs = rngs
        self._sink = sink

    def write(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | Slot | None:
        """Write the state that is about to be drawn from; returns that of the script's own generator."""
        generator = own_generator(kwargs)
        if generator is None:
            self._rngs.write(f"torch-{_find_device(args, kwargs)}")
            return None
        state = self._sink.tensors.digest(generator.get_state())
        self._sink.write(PendingRecord("rng", _name_own(generator), parts=[state]))
        return state

    def find_draw(
        self, kwargs: dict[str, Any], before: bytes | Slot | None, put_out: Sequence[torch.Tensor]
    ) -> Draw:
        """The draw of an operation that has put these tensors out; `before` is what `write` returned."""
        generator = own_generator(kwargs)
        if generator is not None:
            state = self._sink.tensors.digest(generator.get_state())
            return Draw(_name_own(generator), state != before)
        if not put_out:
            return Draw(None, True)
        name = f"torch-{put_out[0].device.type}"
        return Draw(name, self._rngs.has_moved(name) is not False)


def _find_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The type of the device that an operation is about to draw on."""
    for value in (*args, *kwargs.values()):  # out=, too
        for tensor in list_tensors(value):
            return tensor.device.type
    return torch.device(kwargs.get("device") or "cpu").type


def _name_own(generator: torch.Generator) -> str:
    return f"torch-{generator.device.type}:generator"
