"""Tier `ops`: every dispatched operation, with digests of what went in and what came out.

An input is not hashed again when an operation of the same step put it out, unchanged since (same address,
size and version counter): its digest is known, and that of any view of it. See docs/decisions/0002.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

import torch
import xxhash
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from samerun.digest.host import digest_memory, plain_device
from samerun.recording.recorder import Recorder
from samerun.recording.tensors import Slot
from samerun.runs import schema
from samerun.sources import _user_code

_UNWRITTEN = frozenset(
    {
        "empty",
        "empty_like",
        "empty_strided",
        "empty_permuted",
        "new_empty",
        "new_empty_strided",
        "empty_quantized",
    }
)
_COLLECTIVE = ("c10d", "_c10d_functional", "_c10d_functional_autograd")
_GARBAGE = bytes(16)  # stands for memory that nothing has written: equal in two runs, whatever it holds
_PRIMITIVE = (int, float, bool, str, complex, torch.dtype)


class _Operation(NamedTuple):
    """What is known of an operation from its schema."""

    name: str
    silent: bool  # not recorded: it puts out nothing new
    written: tuple[int, ...]  # positions of the arguments that it writes to
    written_names: tuple[str, ...]  # the same, when given by keyword
    outs: frozenset[str]  # the arguments that it overwrites whatever they held
    draws: bool
    unwritten: bool  # its output is not initialised
    pending: bool  # it returns before its result is there: a collective, which another thread carries out
    phase: str | None


class _Known(NamedTuple):
    """The digest of the tensor at an address, as long as nothing is written there."""

    version: int
    nbytes: int
    shape: torch.Size
    stride: tuple[int, ...]
    digest: bytes | Slot


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records every operation dispatched while it is active."""

    def __init__(self, recorder: Recorder, path: Callable[[], str | None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder
        self.path = path
        self._operations: dict[Any, _Operation] = {}
        self._known: dict[int, _Known] = {}
        self._unwritten: dict[int, torch.UntypedStorage] = {}  # kept alive: its address stays its own
        self._sites: dict[tuple[CodeType, int], str] = {}
        self._made: dict[int, tuple[str | None, str | None]] = {}  # autograd node → where its forward ran

    def forget(self) -> None:
        """At the end of a step."""
        self._made.clear()
        self.doubt()
        self._unwritten = {key: kept for key, kept in self._unwritten.items() if _in_use(kept)}

    def doubt(self) -> None:
        """Know no digest any more: memory may have been written, or used anew, past the dispatcher."""
        self._known.clear()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one operation and record it."""
        kwargs = kwargs or {}
        recorder = self.recorder
        operation = self._operations.get(func)
        if operation is None:
            operation = self._operations[func] = _learn(func)
        if operation.silent or recorder.failed or recorder.in_worker:
            return func(*args, **kwargs)
        local = recorder.local
        if local.paused:
            return func(*args, **kwargs)
        local.paused = True
        try:
            before = self._before(operation, args, kwargs)
        except Exception as error:
            recorder.fail(error)
            return func(*args, **kwargs)
        finally:
            local.paused = False
        result = func(*args, **kwargs)
        local.paused = True
        try:
            self._after(operation, args, kwargs, result, *before)
        except Exception as error:
            recorder.fail(error)
        finally:
            local.paused = False
        return result

    def _before(
        self, operation: _Operation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[bytes | Slot], int, str | None, str | None]:
        """Digests of the inputs, flags, module and call site."""
        recorder = self.recorder
        flags = 0
        if operation.draws:
            flags = schema.DRAWS
            self._generator(kwargs.get("generator"))
        inputs: list[bytes | Slot] = []
        plain: list[Any] = []
        if self._unwritten and self._reads_unwritten(operation, args, kwargs):
            flags |= schema.UNINITIALIZED
        read = [value for name, value in kwargs.items() if name not in operation.outs] if kwargs else ()
        for value in (*args, *read) if read else args:
            if isinstance(value, torch.Tensor):
                inputs.append(self._input(value))
            elif isinstance(value, (list, tuple)):
                for item in value:
                    if isinstance(item, torch.Tensor):
                        inputs.append(self._input(item))
                    elif isinstance(item, _PRIMITIVE):
                        plain.append(item)
            elif isinstance(value, _PRIMITIVE):
                plain.append(value)
        if plain:
            inputs.append(xxhash.xxh3_128_digest(repr(plain).encode()))
        if recorder.local.loading:
            flags |= schema.LOADER
        node: Any = torch._C._current_autograd_node()  # typed as never None, and is in the forward
        if node is not None:
            module, site = self._made.get(node._sequence_nr(), (None, None))
            return inputs, flags, module, site
        site = recorder.site or self._site()
        module = self.path()
        if torch.is_grad_enabled():
            # An operation's autograd node is made just before it is dispatched, and took the last number.
            self._made.setdefault(torch._C._autograd._get_sequence_nr() - 1, (module, site))
        return inputs, flags, module, site

    def _after(
        self,
        operation: _Operation,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        inputs: Sequence[bytes | Slot],
        flags: int,
        module: str | None,
        site: str | None,
    ) -> None:
        parts: list[bytes | Slot] = []
        written = _written(operation, args, kwargs) if operation.written else ()
        if operation.pending:
            flags |= schema.UNHASHED
            self.doubt()
        elif operation.unwritten:
            flags |= schema.NEVER_WRITTEN
            for tensor in _each(result):
                self._known.pop(tensor.data_ptr(), None)
                if tensor.numel():
                    storage = tensor.untyped_storage()
                    self._unwritten[storage.data_ptr()] = storage
        elif written:
            for tensor in written:
                if self._unwritten:
                    self._unwritten.pop(tensor.untyped_storage().data_ptr(), None)
                parts.append(self.output(tensor, bumps=1))  # autograd counts the write after this returns
        elif isinstance(result, torch.Tensor):
            parts.append(self.output(result))
        else:
            for tensor in _each(result):
                parts.append(self.output(tensor))
            if isinstance(result, (int, float, bool)):
                parts.append(xxhash.xxh3_128_digest(repr(result).encode()))
        self.recorder.operation(operation.name, operation.phase, module, site, parts, inputs, flags)

    def _site(self) -> str | None:
        """The line of the user's code that asked for this operation."""
        frame = _user_code.user_frame(4)
        if frame is None:
            return None
        key = frame.f_code, frame.f_lasti  # cheaper than the number of the line
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = _user_code.call_site(frame)
        return site

    def _generator(self, generator: torch.Generator | None) -> None:
        if generator is None:
            self.recorder.rng()
        else:
            state = self.recorder.tensors.digest(generator.get_state())
            self.recorder.row("rng", "torch-cpu:generator", parts=[state])

    def _input(self, tensor: torch.Tensor) -> bytes | Slot:
        if self._unwritten and self._is_unwritten(tensor):
            return _GARBAGE
        try:
            known = self._known.get(tensor.data_ptr())
            if known is not None and known.version == tensor._version and known.nbytes == tensor.nbytes:
                if known.shape == tensor.shape and known.stride == tensor.stride():
                    return known.digest
            else:
                known = self._whole(tensor)
            if known is not None and isinstance(known.digest, bytes):
                view = f"{tensor.storage_offset()}{tensor.shape}{tensor.stride()}"
                return xxhash.xxh3_128_digest(known.digest + view.encode())
        except (RuntimeError, NotImplementedError):  # no storage, or an inference tensor without a version
            pass
        return self.output(tensor)

    def _whole(self, tensor: torch.Tensor) -> _Known | None:
        """What is known of the whole memory that a tensor is a part of.

        All of it is read when the tensor is a transposed view of all of it: that saves the copy.
        """
        storage = tensor.untyped_storage()
        address, nbytes = storage.data_ptr(), storage.nbytes()
        known = self._known.get(address)
        if known is not None and known.version == tensor._version and known.nbytes == nbytes:
            return known
        if nbytes == tensor.nbytes and not tensor.is_contiguous() and plain_device(tensor) == "cpu":
            size = torch.Size([nbytes])
            known = _Known(tensor._version, nbytes, size, (1,), digest_memory(address, nbytes))
            self._known[address] = known
            return known
        return None

    def output(self, tensor: torch.Tensor, bumps: int = 0) -> bytes | Slot:
        """Digest a tensor, and know it from here on, when its version counter has gone `bumps` further."""
        digest = self.recorder.tensors.digest(tensor)
        try:
            self._known[tensor.data_ptr()] = _Known(
                tensor._version + bumps, tensor.nbytes, tensor.shape, tensor.stride(), digest
            )
        except RuntimeError:
            pass
        return digest

    def _reads_unwritten(self, operation: _Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        written = {id(tensor) for tensor in _written(operation, args, kwargs)}
        return any(
            id(tensor) not in written and self._is_unwritten(tensor)
            for value in (*args, *kwargs.values())
            for tensor in _each(value)
        )

    def _is_unwritten(self, tensor: torch.Tensor) -> bool:
        try:
            return tensor.untyped_storage().data_ptr() in self._unwritten
        except (RuntimeError, NotImplementedError):  # sparse and the like have no storage
            return False


def _learn(func: Any) -> _Operation:
    """Read an operation's schema; one without (a higher-order operator) is judged by its outputs."""
    schema_ = getattr(func, "_schema", None)
    if schema_ is None:
        return _Operation(str(func), False, (), (), frozenset(), False, False, False, None)
    name = str(func)
    namespace, _, rest = name.partition(".")
    written = [
        (position, argument.name)
        for position, argument in enumerate(schema_.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return _Operation(
        name=name,
        # lift_fresh is where torch.tensor(…) brings data in; _unsafe_view shares memory as views do
        silent=(bool(func.is_view) and not rest.startswith("lift_fresh"))
        or name == "aten._unsafe_view.default"
        or namespace == "profiler",
        written=tuple(position for position, _ in written),
        written_names=tuple(argument for _, argument in written),
        outs=frozenset(
            argument.name
            for argument in schema_.arguments
            if argument.kwarg_only and argument.alias_info is not None and argument.alias_info.is_write
        ),
        draws=torch.Tag.nondeterministic_seeded in func.tags,
        unwritten=namespace == "aten" and rest.split(".")[0] in _UNWRITTEN,
        pending=namespace in _COLLECTIVE and not rest.startswith("wait_tensor"),
        phase="collective" if namespace in _COLLECTIVE else None,
    )


def _written(operation: _Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for position, name in zip(operation.written, operation.written_names, strict=True):
        value = args[position] if position < len(args) else kwargs.get(name)
        found += _each(value)
    return found


def _each(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in _each(item)]
    return []


def _in_use(storage: torch.UntypedStorage) -> bool:
    """Whether anything but us still holds it."""
    count: int = torch._C._storage_Use_Count(storage._cdata)
    return count > 1


class Window:
    """Turns tier ops on and off as the steps go by."""

    def __init__(self, recorder: Recorder, path: Callable[[], str | None]) -> None:
        self.recorder = recorder
        self.mode = Operations(recorder, path)
        self._on = False
        self.move()

    def move(self) -> None:
        """After each step, and once at the start."""
        self.mode.forget()
        first, last = self.recorder.plan.window or (-1, 1 << 62)
        step = self.recorder.step
        due = max(first, 0) <= step <= last + 1  # the evaluation after `last` still belongs to it
        if due and not self._on and not _get_current_dispatch_mode_stack():
            self.mode.__enter__()  # type: ignore[no-untyped-call]
            self._on = True
            self.recorder.row("window", "open")
        elif self._on and not due and _get_current_dispatch_mode_stack()[-1:] == [self.mode]:
            self.mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._on = False
            self.recorder.row("window", "close")


def _observe_entry(mode: Operations, name: str) -> None:
    """Record where data comes into torch past the dispatcher, as an operation whose inputs are not known."""
    recorder = mode.recorder
    function: Callable[..., torch.Tensor] = getattr(torch, name)

    def enter(tensor: torch.Tensor) -> None:
        if mode in _get_current_dispatch_mode_stack():
            frame = _user_code.user_frame(4)
            site = None if frame is None else _user_code.call_site(frame)
            recorder.operation(f"torch.{name}", None, mode.path(), site, [mode.output(tensor)], [], 0)

    guarded = recorder.guard(enter)

    @functools.wraps(function)
    def wrapped(*arguments: Any, **keywords: Any) -> torch.Tensor:
        tensor = function(*arguments, **keywords)
        guarded(tensor)
        return tensor

    setattr(torch, name, wrapped)


def observe(recorder: Recorder, path: Callable[[], str | None]) -> None:
    """With a plan of tier ops: record operations in its window."""
    if recorder.plan.tier != "ops":
        return
    window = Window(recorder, path)
    recorder.after_step.append(window.move)
    recorder.after_batch.append(window.mode.doubt)
    for name in ("from_numpy", "frombuffer", "as_tensor", "from_dlpack"):
        _observe_entry(window.mode, name)
    compile_ = torch.compile

    def compiled(*arguments: Any, **keywords: Any) -> Any:
        recorder.journal.note(
            "note",
            "compile-eager",
            detail="torch.compile runs in eager mode while operations are recorded",
        )
        return compile_(*arguments, **keywords)

    torch.compile = compiled
