"""What a pickle holds, read from its opcodes: nothing in it is imported, called or built.

Containers, numbers and strings come out as they are, tensors as a `Sketch`, everything else as a `Call`.
Time and memory are bounded by limits on what one pickle may hold.
"""

from __future__ import annotations

import io
import math
import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

Admit = Callable[[str], None]  # is called with each global that the pickle names, and may raise

_LEGACY_MAGIC: Final = 0x1950A86A20F9469CFC6C  # the first of the pickles that torch.save wrote before 1.6
_MOST_OPCODES: Final = 5_000_000
_MOST_COPIED: Final = 1 << 28  # bytes of what a pickle makes of others
_SIZES: Final[dict[type, int]] = {str: 1, bytes: 1, list: 16, tuple: 16, dict: 64}  # bytes of an item
_LARGEST_KEY: Final = 1 << 60  # beyond it, and in tuples of tuples, equal hashes can be forged


@dataclass(frozen=True)
class Sketch:
    """A tensor without its content."""

    dtype: str  # such as "float32"; "" when the pickle does not say
    shape: tuple[int, ...]
    place: str  # the device it was on, such as "cuda:0"
    storage: Any = None  # the key of its storage; where it was pickled without torch.save, that file as bytes
    offset: int = 0  # elements before its first one in the storage
    strides: tuple[int, ...] = ()  # in elements
    stored: str = ""  # the dtype of the storage's own elements: "uint8" where it has none

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
_SETS: Final = ("__builtin__.set", "__builtin__.frozenset")  # before protocol 4
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
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "QInt8": "qint8",
    "QUInt8": "quint8",
    "QInt32": "qint32",
    "Untyped": "uint8",
}


def read_pickle(file: BinaryIO, admit: Admit | None = None) -> Any:
    """What the pickle that begins here holds; of torch's old format, the one that holds the content.

    Raises ValueError, or what else pickletools raises, for something that is no pickle or too large, and what
    `admit` raises.
    """
    tree = _Machine(admit).run(file)
    if tree == _LEGACY_MAGIC:
        for _ in ("protocol", "system"):
            _Machine(admit).run(file)
        tree = _Machine(admit).run(file)
    return tree


class _Machine:
    """The stack of the unpickler, on which calls are noted rather than made."""

    def __init__(self, admit: Admit | None) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._admit = admit
        self._copied = 0

    def run(self, file: BinaryIO) -> Any:
        for number, (opcode, arg, _) in enumerate(pickletools.genops(file)):
            if number >= _MOST_OPCODES:
                raise ValueError(f"a pickle of more than {_MOST_OPCODES} opcodes")
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
            target.update(map(_check_key, items))
        else:
            (target.items if isinstance(target, Call) else target).extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        pairs = [(_check_key(key), item) for key, item in zip(items[::2], items[1::2], strict=True)]
        if isinstance(target, Call):
            target.items.extend(pairs)
        else:
            target.update(pairs)

    def build(self) -> None:
        state = self.pop()
        if isinstance(self._stack[-1], Call):
            self._stack[-1].state = state

    def push_global(self, name: str) -> None:
        if self._admit is not None:
            self._admit(name)
        self.push(Call(name))

    def call(self, args: Any) -> None:
        function = self.pop()
        self._count_copied(args)
        self.push(self._make(function.name if isinstance(function, Call) else "", tuple(args)))

    def _count_copied(self, args: Any) -> None:
        """What is taken from the memo again and again may not grow without end."""
        for arg in (args, *args):
            if isinstance(arg, (str, bytes, list, tuple, dict)):
                self._copied += _SIZES[type(arg)] * len(arg)
        if self._copied > _MOST_COPIED:
            raise ValueError(f"a pickle that makes more than {_MOST_COPIED} bytes of others")

    def _make(self, name: str, args: tuple[Any, ...]) -> Any:
        if name in _MAPPINGS:
            pairs = next((arg for arg in args if isinstance(arg, (list, dict))), {})
            inner = pairs.items() if isinstance(pairs, dict) else pairs
            return {_check_key(key): item for key, item in inner}
        if name == "torch._tensor._rebuild_from_type_v2" and isinstance(args[0], Call):
            return self._make(args[0].name, args[2])
        return _make_value(name, args, self._admit)


def _check_key(key: Any) -> Any:
    """A key whose hash takes no time that a forger chooses. Raises ValueError for others."""
    inner = key if isinstance(key, tuple) else (key,)
    for item in inner:
        if isinstance(item, tuple) or (isinstance(item, (int, float)) and abs(item) > _LARGEST_KEY):
            raise ValueError("a pickle with a key that no checkpoint has")
    return key


def _make_value(name: str, args: tuple[Any, ...], admit: Admit | None) -> Any:
    if name.startswith("torch._utils._rebuild_parameter"):
        return args[0]
    if name in ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"):
        return _make_tensor(args, admit)
    if name == "torch._utils._rebuild_qtensor":
        return Call(name, (_make_tensor(args[:4], admit), args[4]))
    if name == "_codecs.encode":  # how protocols before 3 write bytes
        return args[0].encode("latin-1")
    if name == "__builtin__.bytes" and not args:
        return b""
    if name in _SETS and args:
        return {_check_key(item) for item in args[0]}
    return Call(name, args)


def _make_tensor(args: tuple[Any, ...], admit: Admit | None) -> Any:
    stored, inside = args[0], None
    if isinstance(stored, Call):  # pickled without torch.save: a file of torch.save's old format, as bytes
        inside = stored.args[0]
        stored = read_pickle(io.BytesIO(inside), admit)
    _, kind, key, place, *_ = stored.id
    dtype = of_storage = _STORAGES.get(kind.name.rpartition(".")[2].removesuffix("Storage"), "")
    if dtype == "uint8" and len(args) > 6 and isinstance(args[6], Call):
        dtype = args[6].name.removeprefix("torch.")
    if len(args) > 6 and isinstance(args[6], dict) and args[6].get("conj"):
        dtype += " conj"  # what lies in the storage is the conjugate
    storage = str(key) if inside is None else inside
    return Sketch(dtype, tuple(args[2]), str(place), storage, args[1], tuple(args[3]), of_storage)


def _stack_global(machine: _Machine, _: Any) -> None:
    name, module = machine.pop(), machine.pop()
    machine.push_global(f"{module}.{name}")


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
    "FROZENSET": lambda m, _: m.push({_check_key(item) for item in m.to_mark()}),
    "DICT": lambda m, _: _make_dict(m),
    "TUPLE1": lambda m, _: m.push((m.pop(),)),
    "TUPLE2": lambda m, _: m.push((m.pop(), m.pop())[::-1]),
    "TUPLE3": lambda m, _: m.push((m.pop(), m.pop(), m.pop())[::-1]),
    "APPEND": lambda m, _: m.extend([m.pop()]),
    "APPENDS": lambda m, _: m.extend(m.to_mark()),
    "ADDITEMS": lambda m, _: m.extend(m.to_mark()),
    "SETITEM": lambda m, _: m.set_items([m.pop(), m.pop()][::-1]),
    "SETITEMS": lambda m, _: m.set_items(m.to_mark()),
    "GLOBAL": lambda m, arg: m.push_global(arg.replace(" ", ".")),
    "STACK_GLOBAL": _stack_global,
    "INST": lambda m, arg: _make_instance(m, arg.replace(" ", ".")),
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
    "EXT1": lambda m, arg: m.push_global(f"extension {arg}"),
    "EXT2": lambda m, arg: m.push_global(f"extension {arg}"),
    "EXT4": lambda m, arg: m.push_global(f"extension {arg}"),
}


def _make_dict(machine: _Machine) -> None:
    items = machine.to_mark()
    machine.push({})
    machine.set_items(items)


def _make_instance(machine: _Machine, name: str) -> None:
    args = machine.to_mark()
    machine.push_global(name)
    machine.call(args)


def _drop(machine: _Machine) -> None:
    machine.to_mark()


def _duplicate(machine: _Machine) -> None:
    top = machine.pop()
    machine.push(top)
    machine.push(top)
