"""A process that goes on from a checkpoint: its numbers are none that were drawn before that was written.

Under control each process begins with the same numbers. One that goes on with a training would give it, each
time, the orders and augmentations that it began with, where without control they would be new ones. So what
nobody has seeded gets a stream of its own where an optimizer, or else a scheduler, is given back what it
knew: it is named by the steps made until then, and repeats where the process begins from there again.

Once in a process. What gives an optimizer its state again and again (a search for a learning rate, weights
that are averaged) goes on with the numbers that follow.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from samerun import lineage
from samerun.digest import digest_bytes
from samerun.lineage import Path
from samerun.sources.patching import attribute
from samerun.sources.source import Undo
from samerun.wrapping import Parameter, wrap_attribute

_STATE = Parameter("state_dict", 1)
_MOST_BYTES = 1 << 20  # of a tensor that stands for an optimizer that counts no steps

_VARIABLE = "SAMERUN_RESUMED"  # what a program finds that such a process starts

_path: Path = ()
_waiting: list[Callable[[], None]] = []


def get_path() -> Path:
    """What streams are named by since this process, or one above it, went on from a checkpoint; () before."""
    return _path


def forget() -> None:
    """What this process does from here on has not gone on from a checkpoint, and may."""
    global _path
    _path = ()


def call_when_resumed(then: Callable[[], None]) -> Undo:
    """Call `then` once this process has gone on from a checkpoint; never where samerun is a library."""
    if lineage.is_launched():
        _waiting.append(then)

    def undo() -> None:
        if then in _waiting:
            _waiting.remove(then)

    return undo


def watch_optimizers() -> Undo:
    """See the first optimizer or scheduler of torch's that is given a state with steps in it."""
    import torch

    schedulers = [
        kind
        for kind in vars(torch.optim.lr_scheduler).values()
        if isinstance(kind, type) and "load_state_dict" in vars(kind)
    ]
    return attribute.undo_all(
        [
            wrap_attribute(torch.optim.Optimizer, "load_state_dict", _follow(_mark_optimizer)),
            *(wrap_attribute(kind, "load_state_dict", _follow(_mark_scheduler)) for kind in schedulers),
        ]
    )


def _follow(mark: Callable[[Mapping[str, Any]], int | None]) -> Any:
    def loaded(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = original(*args, **kwargs)
        state = _STATE.of(args, kwargs, None)
        if not _path and _waiting and isinstance(state, Mapping):
            with contextlib.suppress(Exception):  # what counts no steps in a way that we know
                if found := mark(state):
                    _resume(found)
        return result

    return loaded


def _resume(mark: int) -> None:
    global _path
    _path = ("resumed", mark)
    lineage.give_each_program(lambda _: {_VARIABLE: str(mark)})
    for then in list(_waiting):
        then()


def _mark_optimizer(state: Mapping[str, Any]) -> int | None:
    """The most steps that a parameter has made, else what a tensor of its state holds; None for a new one."""
    import torch

    kept = state.get("state")
    values = (
        [each for each in kept.values() if isinstance(each, Mapping)] if isinstance(kept, Mapping) else []
    )
    steps = [step for each in values if (step := _read_number(each.get("step"))) is not None]
    if steps:
        return max(steps)
    tensors: Iterator[torch.Tensor] = (
        tensor for each in values for tensor in each.values() if isinstance(tensor, torch.Tensor)
    )
    first = next((tensor for tensor in tensors if tensor.layout is torch.strided and tensor.numel()), None)
    if first is None:
        return None
    part = first.detach().reshape(-1)[: _MOST_BYTES // first.element_size()].contiguous().cpu()
    return int.from_bytes(digest_bytes(part.view(torch.uint8).numpy().tobytes())[:8], "little")


def _mark_scheduler(state: Mapping[str, Any]) -> int | None:
    """How often it was stepped."""
    return _read_number(state.get("last_epoch"))


def _read_number(value: Any) -> int | None:
    import torch

    if isinstance(value, torch.Tensor) and value.numel() != 1:
        return None
    return int(value) if isinstance(value, (int, float, torch.Tensor)) else None


if (_above := os.environ.pop(_VARIABLE, "")).isdecimal():
    _resume(int(_above))
