"""What can be kept: objects with a state_dict, generators, plain values; how each is read and written."""

from __future__ import annotations

import random
from typing import Any, Final

import numpy
import torch

from samerun.digest.values import name_type
from samerun.errors import StateError
from samerun.sources.per_sample import own_generators
from samerun.state import in_place
from samerun.streams import Stream

# In the order of restoring: a scheduler may set its optimizer's learning rate, which the optimizer's own
# state then puts right; what draws random numbers while it is restored comes before the generators.
KINDS: Final = ("module", "other", "scheduler", "scaler", "optimizer", "loader", "generator", "value")

_BASES: Final[tuple[tuple[str, Any], ...]] = (
    ("module", torch.nn.Module),
    ("optimizer", torch.optim.Optimizer),
    ("scheduler", torch.optim.lr_scheduler.LRScheduler),
    ("scaler", torch.amp.GradScaler),
    ("loader", (torch.utils.data.DataLoader, torch.utils.data.Sampler)),
)
_GENERATORS: Final = (torch.Generator, random.Random, numpy.random.Generator, numpy.random.RandomState)


def find_kind(thing: Any, name: str) -> str:
    """One of KINDS. Raises StateError for an object that can be read but not written, or the reverse."""
    if isinstance(thing, _GENERATORS):
        return "generator"
    if isinstance(thing, type):
        return "value"  # which a class is not: the Taker says so
    reads, writes = (callable(getattr(thing, method, None)) for method in ("state_dict", "load_state_dict"))
    if reads and writes:
        return next((kind for kind, base in _BASES if isinstance(thing, base)), "other")
    if reads or writes:
        raise StateError(
            f"{name} is a {name_type(type(thing))} with {'state_dict' if reads else 'load_state_dict'}() but "
            f"without {'load_state_dict' if reads else 'state_dict'}(); give it both"
        )
    if isinstance(thing, (torch.utils.data.DataLoader, torch.utils.data.Sampler)):
        raise StateError(
            f"{name} is a {name_type(type(thing))}, which has no state_dict() and so no position to keep; "
            "use samerun.data.DataLoader, which takes the same arguments"
        )
    return "value"


def read(thing: Any, kind: str) -> Any:
    """The state of a thing, still sharing memory with it."""
    if kind == "value":
        return thing
    return own_generators.read(thing) if kind == "generator" else thing.state_dict()


def write(thing: Any, kind: str, state: Any) -> None:
    """Put a state, which becomes the thing's own, back in place.

    Of plain values, only those that can change are written: tensors, arrays, lists, dicts, sets.
    """
    if kind == "generator":
        own_generators.write(thing, state)
    elif kind == "value":
        _write_value(thing, state)
    elif kind == "optimizer":
        thing.load_state_dict(state)
        _keep_dtypes(thing, state)
    else:
        thing.load_state_dict(state)


def reseed(generator: Any, stream: Stream) -> None:
    """Put a generator of any library at the start of a stream."""
    if isinstance(generator, torch.Generator):
        generator.manual_seed(stream.seed64)
    elif isinstance(generator, random.Random):
        generator.seed(stream.seed64)
    elif isinstance(generator, numpy.random.RandomState):
        generator.seed([stream.seed64 & 0xFFFFFFFF, stream.seed64 >> 32])
    else:
        bits: Any = generator.bit_generator
        fresh = type(bits)(stream.seed64)
        bits.state = fresh.state
        own_generators.replace_sequence(bits, fresh.seed_seq)  # its children are of the stream too


def _write_value(value: Any, state: Any) -> None:
    if isinstance(value, torch.Tensor):
        value.copy_(state)
    elif isinstance(value, numpy.ndarray):
        value[...] = state
    elif isinstance(value, (list, dict, set)):
        in_place.write(value, state)


def _keep_dtypes(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Undo torch's cast of an optimizer's state to the dtype of the parameter: it would lose bits."""
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, parameter in zip(numbers, parameters, strict=True):
        held = optimizer.state.get(parameter)
        for key, saved in state["state"].get(number, {}).items():
            if held is None or not isinstance(saved, torch.Tensor):
                continue
            if isinstance(held.get(key), torch.Tensor) and held[key].dtype != saved.dtype:
                held[key] = saved.to(held[key].device)
