"""Samples the values of the weights now and then: digests say that two runs differ, not by how much."""

from __future__ import annotations

import json
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from samerun.digest.host import find_plain_device
from samerun.digest.unobserved import hide_ops
from samerun.recording.recorder import Recorder
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.sampled_steps import is_sampled

_MOST = 65_536  # elements of one optimizer's parameters
_BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.bfloat16: torch.int16,
    torch.float16: torch.int16,
}


class _Sample(NamedTuple):
    """The elements to take from the parameters of one optimizer."""

    key: tuple[tuple[int, int], ...]  # id and size of each parameter
    indices: list[torch.Tensor]  # int64[k] for each parameter: positions in its logical order


class Values:
    """Writes samples of the weights."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._taken: weakref.WeakKeyDictionary[object, _Sample] = weakref.WeakKeyDictionary()

    def write(self, owner: object, label: str, parameters: Sequence[torch.Tensor]) -> None:
        """After a step that is due: at most 65,536 elements of the parameters, at positions that stay.

        One row for each of their dtypes, with the raw bytes of the elements one after the other. Parameters
        that are not floating point, and those without memory of their own, are left out.
        """
        if not self._is_due(self._recorder.cursor.step):
            return
        sampled = [p for p in parameters if p.dtype in _BITS and find_plain_device(p) and p.numel()]
        if not sampled:
            return
        taken = self._positions(owner, sampled)
        for dtype in dict.fromkeys(parameter.dtype for parameter in sampled):
            alike = [pair for pair in zip(sampled, taken.indices, strict=True) if pair[0].dtype is dtype]
            with hide_ops():
                pieces = [
                    parameter.detach().reshape(-1)[index.to(parameter.device)].cpu()
                    for parameter, index in alike
                ]
                raw = torch.cat(pieces).view(_BITS[dtype]).numpy().tobytes()
            detail = {
                "elements": len(raw) // dtype.itemsize,
                "of": sum(parameter.numel() for parameter, _ in alike),
                "dtype": str(dtype).removeprefix("torch."),
            }
            self._recorder.sink.write(PendingRecord("values", label, sample=raw, detail=json.dumps(detail)))

    def _is_due(self, step: int) -> bool:
        first, last = self._recorder.plan.window or (1, 0)
        return is_sampled(step) or first <= step <= last

    def _positions(self, owner: object, parameters: Sequence[torch.Tensor]) -> _Sample:
        key = tuple((id(parameter), parameter.numel()) for parameter in parameters)
        taken = self._taken.get(owner)
        if taken is None or taken.key != key:
            taken = self._taken[owner] = _Sample(key, _choose_positions([size for _, size in key]))
        return taken


def _choose_positions(sizes: Sequence[int]) -> list[torch.Tensor]:
    """Positions in tensors of these sizes: spread over all of them, at no regular distance."""
    of = sum(sizes)
    numbers = np.arange(min(of, _MOST) + 1, dtype=np.int64)
    edges = numbers * of // numbers[-1]
    shift = (numbers[:-1] * 2_654_435_761) % 2**32  # a multiplicative hash: Knuth, volume 3, section 6.4
    places = edges[:-1] + ((shift * np.diff(edges)) >> 32)
    starts = np.cumsum([0, *sizes])
    cuts = np.searchsorted(places, starts)
    return [torch.from_numpy(places[cuts[n] : cuts[n + 1]] - starts[n]) for n in range(len(sizes))]
