"""Plain trees: what stands for a value in a state, and what `torch.load(weights_only=True)` reads.

A tree is made of None, numbers, str, bytes, list, tuple, dict, OrderedDict, Counter, torch's dtypes, devices,
layouts and sizes, and tensors on the CPU. What has no place in it is a dict that says under `MARK` what it
stands for. Where each tensor was is kept beside the tree, so that a file opens on a machine without that
device.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from samerun.digest import digest_value
from samerun.errors import StateError

MARK = "__samerun__"
Places = str | list[str]  # the device of all tensors of a tree, or of each in the order of the walk

MAPPINGS: dict[type, type] = {
    dict: dict,
    collections.defaultdict: dict,
    collections.OrderedDict: collections.OrderedDict,
    collections.Counter: collections.Counter,
}
SETS: dict[str, type] = {"set": set, "frozenset": frozenset}
LEAVES: frozenset[type] = frozenset(
    {
        *(type(None), bool, int, float, complex, str),
        *(torch.dtype, torch.device, torch.layout, torch.Size),
    }
)
TENSORS: frozenset[type] = frozenset({torch.Tensor, torch.nn.Parameter})
ARRAY_KINDS = "biufcSUmM"  # numpy's kinds whose bytes are the whole value
_KEYS = frozenset({type(None), bool, int, float, str, bytes})


@contextmanager
def disable_grad() -> Iterator[None]:
    """No graph is recorded in here, and no tensor made in here is an inference tensor."""
    with torch.inference_mode(False), torch.no_grad():
        yield


def clone(value: torch.Tensor, device: str, where: str) -> torch.Tensor:
    """The tensor on a device, in memory of its own that holds no more than it shows.

    Raises StateError for a tensor without content, or one that torch cannot copy.
    """
    if value.is_meta or torch.nn.parameter.is_lazy(value):
        raise StateError(
            f"{where} has no content yet (a meta or lazy tensor); run a batch through the model first"
        )
    try:
        plain = value.detach()
        if plain.layout is torch.strided and not plain.is_quantized:
            plain = plain.resolve_conj().resolve_neg()
        copied = plain.clone() if str(plain.device) == device else plain.to(device, copy=True)
    except (RuntimeError, NotImplementedError) as error:
        first = str(error).partition("\n")[0]
        raise StateError(f"{where}, {show(value)}, could not be copied: {first}") from error
    return copied.requires_grad_() if value.requires_grad and value.is_leaf else copied


def is_key(key: Any) -> bool:
    """Whether a mapping in a tree may have this key."""
    return type(key) in _KEYS or (type(key) is tuple and all(map(is_key, key)))


def walk_tensors(tree: Any) -> Iterator[torch.Tensor]:
    """Every tensor of a tree, as often as it occurs."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from walk_tensors(item)


def find_differing(saved: Any, now: Any, where: str, *, more: bool = False) -> str | None:
    """Where two trees first differ, in words; None when they hold the same bits.

    The order of a mapping does not count, nor does list against tuple. With `more`, `now` may have more keys.
    """
    if isinstance(saved, dict) and isinstance(now, dict):
        for key, item in saved.items():
            if key not in now:
                return f"{where}[{key!r}] is not there"
            found = find_differing(item, now[key], f"{where}[{key!r}]", more=more)
            if found is not None:
                return found
        extra = [key for key in now if key not in saved]
        return f"{where}[{extra[0]!r}] is there too" if extra and not more else None
    if isinstance(saved, (list, tuple)) and isinstance(now, (list, tuple)):
        if len(saved) != len(now):
            return f"{where} has {len(now)} items, not {len(saved)}"
        pairs = enumerate(zip(saved, now, strict=True))
        found_in = (find_differing(one, two, f"{where}[{index}]", more=more) for index, (one, two) in pairs)
        return next((found for found in found_in if found is not None), None)
    if digest_value(saved) == digest_value(now):
        return None
    if isinstance(saved, torch.Tensor) and show(saved) == show(now):
        return f"{where} has other bits"
    return f"{where} is {show(now)}, not {show(saved)}"


def show(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
