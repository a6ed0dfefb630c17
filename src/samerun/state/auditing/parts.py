"""Which parts of a training a tree holds, told by their form rather than by what they are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from samerun.sources.numpy_global import NumpyGlobal
from samerun.sources.python_random import PythonRandom
from samerun.sources.torch_cpu import TorchCpu
from samerun.sources.torch_cuda import TorchCuda
from samerun.tensor_files.pickles import Call, Sketch

_CPU_STATE: Final = 5056  # bytes of a torch CPU generator's state: an MT19937 and a spare normal variate
_GPU_STATE: Final = 16  # bytes: a seed and an offset
_STEP: Final = re.compile(
    r"(current_|global_|last_)?(epoch|step|iter|iteration|update)(_num|_idx|_id)?|global_steps|num_updates"
)
_SETTINGS: Final = re.compile(
    r"args|cfg|config|hparams|hyper_parameters"
)  # say what was asked for, not how far it got
_LOADER: Final = re.compile(r".*(loader|sampler|data_iter).*", re.IGNORECASE)
_LOADER_FORMS: Final = (
    {"batches", "order", "held"},
    {"_num_yielded"},
    {"_snapshot"},
)  # samerun's, torchdata's
_DEEPEST: Final = 12
_HISTORY: Final = 1000  # a longer list of numbers is a history, not a part


@dataclass
class Parts:
    """What was found."""

    has: set[str] = field(default_factory=set)
    places: set[str] = field(default_factory=set)  # the types of the devices on which tensors were
    scheduled: bool | None = None  # whether an optimizer was driven by a scheduler; None: no optimizer says
    on_cpu: bool = False  # whether there are optimizer tensors and all were on the CPU

    def add(self, other: Parts) -> None:
        """Take over what was found elsewhere."""
        self.has |= other.has
        self.places |= other.places
        self.on_cpu = self.on_cpu or other.on_cpu
        if other.scheduled is not None:
            self.scheduled = bool(self.scheduled) or other.scheduled


def find(tree: Any) -> Parts:
    """The parts that a tree of plain values, tensors and outlines of pickles holds."""
    parts = Parts()
    seen: set[int] = set()
    waiting: list[tuple[Any, str, int]] = [(tree, "", 0)]
    while waiting:
        node, key, depth = waiting.pop()
        if id(node) in seen or depth > _DEEPEST:
            continue
        if isinstance(node, (dict, list, tuple, Call)):
            seen.add(id(node))
        if _recognise(node, key, parts):
            continue
        waiting += [(child, name or key, depth + 1) for name, child in _list_children(node)]
    return parts


def sketch(value: Any) -> Sketch | None:
    """A tensor's outline; None for anything else."""
    if isinstance(value, torch.Tensor):
        return Sketch(str(value.dtype).removeprefix("torch."), tuple(value.shape), str(value.device))
    return value if isinstance(value, Sketch) else None


def _recognise(node: Any, key: str, parts: Parts) -> bool:
    """Note what a node is; True when there is nothing more to be found inside it."""
    if _SETTINGS.fullmatch(key):
        return True
    tensor = sketch(node)
    if tensor is not None:
        parts.places.add(tensor.place.partition(":")[0])
        parts.has |= {name for name in (_find_generator(tensor),) if name}
        return True
    if isinstance(node, (int, float)) and not isinstance(node, bool):
        if _STEP.fullmatch(key):
            parts.has.add("step")
        return True
    if isinstance(node, dict):
        return _recognise_mapping(node, key, parts)
    if isinstance(node, (list, tuple)):
        name = _find_generator_tuple(node)
        parts.has |= {name for name in (name,) if name}
        numbers = len(node) > _HISTORY and isinstance(node[0], (int, float))
        return name is not None or numbers
    return False


def _recognise_mapping(node: dict[Any, Any], key: str, parts: Parts) -> bool:
    names = {name for name in node if isinstance(name, str)}
    if {"state", "param_groups"} <= names:
        _note_optimizer(node, parts)
        for name in names - {"state", "param_groups"}:
            parts.add(find({name: node[name]}))  # MMEngine keeps the scaler in it
        return True
    if {"growth_factor", "scale"} <= names:
        parts.has.add("scaler")
        return True
    if "bit_generator" in names:
        parts.has.add(NumpyGlobal.id)
        return True
    if _is_scheduler(names):
        parts.has.add("scheduler")
        return True
    if node and (_LOADER.fullmatch(key) or any(form <= names for form in _LOADER_FORMS)):
        parts.has.add("loader")
        return True
    if _is_model(node):
        parts.has.add("model")
    return False


def _note_optimizer(node: dict[str, Any], parts: Parts) -> None:
    parts.has.add("optimizer")
    groups = node["param_groups"] if isinstance(node["param_groups"], (list, tuple)) else ()
    # torch's schedulers leave this in every group when they are made
    scheduled = any(isinstance(group, dict) and "initial_lr" in group for group in groups)
    tensors = list(_walk_tensors(node["state"]))
    places = {tensor.place.partition(":")[0] for tensor in tensors}
    found = Parts(
        places=places, scheduled=scheduled, on_cpu=places == {"cpu"} and any(t.shape for t in tensors)
    )
    parts.add(found)


def _is_scheduler(names: set[str]) -> bool:
    torchs = "last_epoch" in names and bool(names & {"_step_count", "base_lrs", "_last_lr", "best"})
    mmengines = {"last_step", "_global_step"} <= names
    return torchs or mmengines or "last_batch_iteration" in names  # the last is DeepSpeed's


def _is_model(node: dict[Any, Any]) -> bool:
    tensors = [tensor for tensor in map(sketch, node.values()) if tensor is not None]
    weights = [tensor for tensor in tensors if _find_generator(tensor) is None]
    return len(weights) > 0 and 2 * len(weights) >= len(node) and all(isinstance(key, str) for key in node)


def _find_generator(tensor: Sketch) -> str | None:
    if tensor.dtype != "uint8" or len(tensor.shape) != 1:
        return None
    return {_CPU_STATE: TorchCpu.id, _GPU_STATE: TorchCuda.id}.get(tensor.numel)


def _find_generator_tuple(node: list[Any] | tuple[Any, ...]) -> str | None:
    if (
        len(node) == 3
        and isinstance(node[0], int)
        and isinstance(node[1], (list, tuple))
        and len(node[1]) == 625
    ):
        return PythonRandom.id
    return NumpyGlobal.id if len(node) == 5 and isinstance(node[0], str) and node[0] == "MT19937" else None


def _walk_tensors(tree: Any) -> Iterator[Sketch]:
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        tensor = sketch(node)
        if tensor is not None:
            yield tensor
        elif id(node) not in seen:
            seen.add(id(node))
            waiting += [child for _, child in _list_children(node)]


def _list_children(node: Any) -> list[tuple[str, Any]]:
    if isinstance(node, dict):
        return [(name if isinstance(name, str) else "", item) for name, item in node.items()]
    if isinstance(node, (list, tuple)):
        return [("", item) for item in node]
    if isinstance(node, Call):
        return [("", node.args), ("", node.items), ("", node.state)]
    return []
