"""What a pickle holds, read from its opcodes: nothing in it is imported, called or built.

Containers, numbers and strings come out as they are, tensors as a `Sketch`, everything else as a `Call`.
"""

from __future__ import annotations

import io
import math
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

_LEGACY_MAGIC: Final = 0x1950A86A20F9469CFC6C  # the first of the pickles that torch.save wrote before 1.6


@dataclass(frozen=True)
class Sketch:
    """A tensor without its content."""

    dtype: str  # such as "float32"; "" when the pickle does not say
    shape: tuple[int, ...]
    place: str  # the device it was on, such as "cuda:0"

    @property
    def numel(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


@dataclass(eq=False)
class Call:
    """An object that the pickle would have made by calling `name`, or the name alone."""

    name: str
    args: tuple[Any, ...] = ()
    items: list[Any] = field(default_factory=list)  # what would have been appended
    state: Any = None


@dataclass(frozen=True, eq=False)
class _Storage:
    """What lies outside the pickle: of torch.save, ("storage", type, key, device, number of elements)."""

    id: Any


_MARK: Final = object()
_MAPPINGS: Final = ("collections.OrderedDict", "collections.defaultdict", "collections.Counter")
_STORAGES: Final = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Bool": "bool",
    "Untyped": "uint8",
}


def read_pickle(file: BinaryIO) -> Any:
    """What the pickle that begins here holds; of torch's old format, the one that holds the content.

    Raises ValueError, or what else pickletools raises, for something that is no pickle.
    """
    tree = _Machine().run(file)
    if tree == _LEGACY_MAGIC:
        for _ in ("protocol", "system"):
            _Machine().run(file)
        tree = _Machine().run(file)
    return tree


class _Machine:
    """The stack of the unpickler, on which calls are noted rather than made."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, file: BinaryIO) -> Any:
        for opcode, arg, _ in pickletools.genops(file):
            name = opcode.name
            if name == "STOP":
                return self._stack.pop()
            if name in _DO:
                _DO[name](self, arg)
            elif opcode.stack_before == [] and len(opcode.stack_after) == 1:
                self._stack.append(arg)  # a constant
            elif name not in ("PROTO", "FRAME", "READONLY_BUFFER"):
                raise ValueError(f"a pickle with the opcode {name}")
        raise ValueError("a pickle without an end")

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def pop(self) -> Any:
        return self._stack.pop()

    def to_mark(self) -> list[Any]:
        """What was pushed since the last mark, which goes too."""
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1  # without a mark: an IndexError, and no pickle
        items = self._stack[at + 1 :]
        del self._stack[at:]
        return items

    def put(self, key: int | None) -> None:
        self._memo[len(self._memo) if key is None else key] = self._stack[-1]

    def get(self, key: int) -> None:
        self.push(self._memo[key])

    def extend(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, set):
            target.update(item for item in items if isinstance(item, (str, int, float, bytes)))
        else:
            (target.items if isinstance(target, Call) else target).extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        pairs = list(zip(items[::2], items[1::2], strict=True))
        if isinstance(target, Call):
            target.items.extend(pairs)
        else:
            target.update(pairs)

    def build(self) -> None:
        state = self.pop()
        if isinstance(self._stack[-1], Call):
            self._stack[-1].state = state

    def call(self, args: Any) -> None:
        function = self.pop()
        self.push(_call(function.name if isinstance(function, Call) else str(function), tuple(args)))


def _call(name: str, args: tuple[Any, ...]) -> Any:
    if name in _MAPPINGS:
        pairs = next((arg for arg in args if isinstance(arg, (list, dict))), {})
        return dict(pairs)
    if name == "torch._tensor._rebuild_from_type_v2" and isinstance(args[0], Call):
        return _call(args[0].name, args[2])
    if name.startswith("torch._utils._rebuild_parameter"):
        return args[0]
    if name in ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"):
        return _make_tensor(args)
    return Call(name, args)


def _make_tensor(args: tuple[Any, ...]) -> Any:
    stored = args[0]
    if isinstance(stored, Call):  # pickled without torch.save: a file of torch.save's old format, as bytes
        stored = read_pickle(io.BytesIO(stored.args[0]))
    _, kind, _, place, *_ = stored.id
    dtype = _STORAGES.get(kind.name.rpartition(".")[2].removesuffix("Storage"), "")
    if dtype == "uint8" and len(args) > 6 and isinstance(args[6], Call):
        dtype = args[6].name.removeprefix("torch.")
    return Sketch(dtype, tuple(args[2]), str(place))


def _stack_global(machine: _Machine, _: Any) -> None:
    name, module = machine.pop(), machine.pop()
    machine.push(Call(f"{module}.{name}"))


def _make_new(machine: _Machine, with_keywords: bool) -> None:
    if with_keywords:
        machine.pop()
    machine.call(machine.pop())


def _make_object(machine: _Machine, _: Any) -> None:
    cls, *args = machine.to_mark()
    machine.push(cls)
    machine.call(args)


_DO: Final[dict[str, Callable[[_Machine, Any], None]]] = {
    "NONE": lambda m, _: m.push(None),
    "NEWTRUE": lambda m, _: m.push(True),
    "NEWFALSE": lambda m, _: m.push(False),
    "EMPTY_LIST": lambda m, _: m.push([]),
    "EMPTY_DICT": lambda m, _: m.push({}),
    "EMPTY_SET": lambda m, _: m.push(set()),
    "EMPTY_TUPLE": lambda m, _: m.push(()),
    "MARK": lambda m, _: m.push(_MARK),
    "LIST": lambda m, _: m.push(m.to_mark()),
    "TUPLE": lambda m, _: m.push(tuple(m.to_mark())),
    "FROZENSET": lambda m, _: m.push(tuple(m.to_mark())),
    "DICT": lambda m, _: _make_dict(m),
    "TUPLE1": lambda m, _: m.push((m.pop(),)),
    "TUPLE2": lambda m, _: m.push((m.pop(), m.pop())[::-1]),
    "TUPLE3": lambda m, _: m.push((m.pop(), m.pop(), m.pop())[::-1]),
    "APPEND": lambda m, _: m.extend([m.pop()]),
    "APPENDS": lambda m, _: m.extend(m.to_mark()),
    "ADDITEMS": lambda m, _: m.extend(m.to_mark()),
    "SETITEM": lambda m, _: m.set_items([m.pop(), m.pop()][::-1]),
    "SETITEMS": lambda m, _: m.set_items(m.to_mark()),
    "GLOBAL": lambda m, arg: m.push(Call(arg.replace(" ", "."))),
    "STACK_GLOBAL": _stack_global,
    "INST": lambda m, arg: m.push(_call(arg.replace(" ", "."), tuple(m.to_mark()))),
    "OBJ": _make_object,
    "REDUCE": lambda m, _: m.call(m.pop()),
    "NEWOBJ": lambda m, _: _make_new(m, False),
    "NEWOBJ_EX": lambda m, _: _make_new(m, True),
    "BUILD": lambda m, _: m.build(),
    "PUT": lambda m, arg: m.put(arg),
    "BINPUT": lambda m, arg: m.put(arg),
    "LONG_BINPUT": lambda m, arg: m.put(arg),
    "MEMOIZE": lambda m, _: m.put(None),
    "GET": lambda m, arg: m.get(arg),
    "BINGET": lambda m, arg: m.get(arg),
    "LONG_BINGET": lambda m, arg: m.get(arg),
    "POP": lambda m, _: m.pop(),
    "POP_MARK": lambda m, _: _drop(m),
    "DUP": lambda m, _: _duplicate(m),
    "PERSID": lambda m, arg: m.push(_Storage(arg)),
    "BINPERSID": lambda m, _: m.push(_Storage(m.pop())),
    "EXT1": lambda m, arg: m.push(Call(f"extension {arg}")),
    "EXT2": lambda m, arg: m.push(Call(f"extension {arg}")),
    "EXT4": lambda m, arg: m.push(Call(f"extension {arg}")),
}


def _make_dict(machine: _Machine) -> None:
    items = machine.to_mark()
    machine.push(dict(zip(items[::2], items[1::2], strict=True)))


def _drop(machine: _Machine) -> None:
    machine.to_mark()


def _duplicate(machine: _Machine) -> None:
    top = machine.pop()
    machine.push(top)
    machine.push(top)
