"""One operation with copies of its inputs, to be run again alone: here or in a fresh process."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from samerun import digest
from samerun.digest.host import find_plain_device
from samerun.digest.unobserved import hide_ops
from samerun.errors import UsageError

_MOST = 256 << 20  # bytes of all inputs
_NAMED: dict[str, Callable[[str], Any]] = {
    "dtype": lambda name: getattr(torch, name),
    "layout": lambda name: getattr(torch, name),
    "memory_format": lambda name: getattr(torch, name),
    "device": torch.device,
}


class Call(NamedTuple):
    """An operation's name and arguments as plain values; tensors and generators stand apart, by number."""

    op: str
    args: Any
    kwargs: Any
    tensors: list[torch.Tensor]  # copies: those that shared memory share it still
    defaults: list[torch.Tensor]  # the states of the default generators
    given: list[torch.Tensor]  # the states of the generators that the operation is given
    devices: list[str]  # the devices of these

    def to_bytes(self) -> bytes:
        """For another process; read by `from_bytes`, and no other way."""
        buffer = io.BytesIO()
        torch.save(self._asdict(), buffer)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Call:
        """What `to_bytes` wrote."""
        return cls(**torch.load(io.BytesIO(data), weights_only=True))

    def function(self) -> Any:
        """The operation. Raises UsageError when its library is not loaded in this process."""
        found: Any = torch.ops
        for name in self.op.split("."):
            try:
                found = getattr(found, name)
            except (AttributeError, RuntimeError):
                raise UsageError(
                    f"there is no operation {self.op} without the script that loads it"
                ) from None
        return found

    def run(self, function: Any, came: Callable[[Sequence[Any], dict[str, Any], Any], list[Any]]) -> bytes:
        """Run it on fresh copies; the digest of what `came` of (arguments, keywords, result).

        The default generators are left where the operation leaves them.
        """
        tensors = copy_tensors(self.tensors)
        for generator, state in zip(_list_defaults(), self.defaults, strict=False):
            generator.set_state(state)
        generators = [torch.Generator(device) for device in self.devices]
        for generator, state in zip(generators, self.given, strict=True):
            generator.set_state(state)
        args, kwargs = (_rebuild(spec, tensors, generators) for spec in (self.args, self.kwargs))
        with hide_ops():
            result = function(*args, **kwargs)
            return digest_all(came(args, kwargs, result))


def take(op: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
    """The call as it is about to be made. Raises UsageError for arguments that cannot be copied."""
    tensors: list[torch.Tensor] = []
    generators: list[torch.Generator] = []
    positional, named = (_take_apart(value, tensors, generators) for value in (list(args), kwargs))
    return Call(
        op,
        positional,
        named,
        copy_tensors(tensors),
        [generator.get_state() for generator in _list_defaults()],
        [generator.get_state() for generator in generators],
        [str(generator.device) for generator in generators],
    )


class Generators:
    """Puts the default generators, and those that an operation is given, back where they were."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        given: list[torch.Generator] = []
        _take_apart([list(args), kwargs], [], given)
        self._all = [*_list_defaults(), *given]
        self._states = [generator.get_state() for generator in self._all]

    def restore(self) -> None:
        """Put them back."""
        for generator, state in zip(self._all, self._states, strict=True):
            generator.set_state(state)


def digest_all(tensors: Sequence[Any]) -> bytes:
    """16 bytes over tensors and numbers."""
    return digest.combine(
        digest.digest_tensor(item) if isinstance(item, torch.Tensor) else digest.digest_value(item)
        for item in tensors
    )


def copy_tensors(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Copies with the strides, offsets and shared memory of the originals."""
    storages: dict[int, torch.UntypedStorage] = {}
    found = []
    with hide_ops():
        for tensor in tensors:
            storage = tensor.untyped_storage()
            if storage._cdata not in storages:
                whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
                storages[storage._cdata] = whole.clone().untyped_storage()
            empty = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            found.append(
                empty.set_(storages[storage._cdata], tensor.storage_offset(), tensor.shape, tensor.stride())
            )
    return found


def _list_defaults() -> list[torch.Generator]:
    """The default generators that are in use."""
    return [torch.default_generator, *torch.cuda.default_generators]  # none before CUDA is in use


def _identify_storage(tensor: torch.Tensor) -> tuple[int, int]:
    """Which it is, and its bytes."""
    storage = tensor.untyped_storage()
    return storage._cdata, storage.nbytes()


def _take_apart(value: Any, tensors: list[torch.Tensor], generators: list[torch.Generator]) -> Any:
    """The value without its tensors and generators, which are added to these."""
    if isinstance(value, torch.Tensor):
        if not find_plain_device(value):
            raise UsageError(f"an input is a {type(value).__name__} that is no plain dense tensor")
        storages = {id_: nbytes for id_, nbytes in map(_identify_storage, [*tensors, value])}
        if sum(storages.values()) > _MOST:
            raise UsageError(f"its inputs are larger than {_MOST >> 20} MiB")
        tensors.append(value)
        return ["tensor", len(tensors) - 1]
    if isinstance(value, torch.Generator):
        generators.append(value)
        return ["generator", len(generators) - 1]
    if value is None or isinstance(value, (bool, int, float, str)):
        return ["plain", value]
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, (list, tuple)):
        return [
            "tuple" if isinstance(value, tuple) else "list",
            [_take_apart(item, tensors, generators) for item in value],
        ]
    if isinstance(value, dict):
        return ["dict", {key: _take_apart(item, tensors, generators) for key, item in value.items()}]
    kind = type(value).__name__
    if kind in _NAMED:
        return [kind, str(value).removeprefix("torch.")]
    raise UsageError(f"an argument is a {kind}")


def _rebuild(spec: Any, tensors: Sequence[torch.Tensor], generators: Sequence[torch.Generator]) -> Any:
    kind, *rest = spec
    if kind == "tensor":
        return tensors[rest[0]]
    if kind == "generator":
        return generators[rest[0]]
    if kind == "plain":
        return rest[0]
    if kind == "complex":
        return complex(*rest)
    if kind == "dict":
        return {key: _rebuild(item, tensors, generators) for key, item in rest[0].items()}
    if kind in _NAMED:
        return _NAMED[kind](rest[0])
    items = [_rebuild(item, tensors, generators) for item in rest[0]]
    return tuple(items) if kind == "tuple" else items
