"""Tier `ops`: every dispatched operation, with digests of what went in and what came out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from xxhash import xxh3_128_digest

from samerun.recording import dynamo_skip
from samerun.recording.ops.digest_cache import Memory
from samerun.recording.ops.external_writes import Place, Watch
from samerun.recording.ops.generator_states import GeneratorStates
from samerun.recording.ops.op_schema import TENSORS, Operation, learn, list_tensors, make_came
from samerun.recording.ops.places import Places
from samerun.recording.ops.uninitialized import UnwrittenMemory
from samerun.recording.ops.watched_operation import WatchedOperation
from samerun.recording.ops.wrapped_numbers import convert_to_tensors
from samerun.recording.recorder import Recorder
from samerun.recording.replay.probe import Prober
from samerun.recording.trace.pending_operation import PendingOperation
from samerun.recording.trace.pending_record import PendingRecord, pack_parts
from samerun.recording.trace.tensor_digests import Slot
from samerun.runs import schema

_PRIMITIVES = (int, float, bool, str, complex, torch.dtype)
_PRIMITIVE = frozenset(_PRIMITIVES)

_compiling: Callable[[], Any] | None = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", None)

# Flags, the tensors that an operation put out or wrote to, and their digests.
_Outputs = tuple[int, list[torch.Tensor], list[bytes | Slot]]


class Aside(NamedTuple):
    """What is known of few operations before they run."""

    generator: bytes | Slot | None  # the state of a generator of the script's that it is given
    watched: WatchedOperation | None  # in a window


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records every operation dispatched while it is active."""

    def __init__(self, recorder: Recorder, path: Callable[[], str | None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder
        self.cursor = recorder.cursor
        self.sink = recorder.sink
        self._local = recorder.cursor.local
        self.path = path
        self.places = Places(recorder.cursor, path)
        self._find_place = self.places.find  # by names of their own: each is asked at every operation
        self._where = recorder.cursor.where
        self._write = recorder.sink.write_operation
        self.memory = Memory(recorder.sink.tensors)
        self.watch: Watch | None = None
        self.prober = None if recorder.plan.probe is None else Prober(recorder.plan.probe)
        self._operations: dict[Any, Operation] = {}  # not by id(), which tells all audit hooks each time
        self._apart: Callable[..., Any] | None = None  # itself, out of the compiler's sight
        self._generators = GeneratorStates(recorder.rngs, recorder.sink)
        self.unwritten = UnwrittenMemory(self.memory, recorder, self.places.find_site)

    def forget(self) -> None:
        """At the end of a step."""
        self.places.forget()
        self.memory.forget()
        self.unwritten.forget()
        if self.watch is not None:
            self.watch.forget()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Whether torch is to keep torch.compile out of every call, which has a price; it is done below."""
        return _compiling is None

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Whether torch.compile is to compile as ever: what it compiles is recorded as it runs, fused."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run one operation and record it."""
        if kwargs is None:
            kwargs = {}
        if _compiling is not None and _compiling() is not None:  # inside a compiled function
            return self._out_of_sight()(func, types, args, kwargs)
        operation = self._operations.get(func)
        if operation is None:
            operation = self._meet(func)
        cursor, here = self.cursor, self._local.__dict__  # found once: each access finds the thread
        if (
            operation.silent
            or here["paused"]
            or here["compiled"]
            or self.sink.failed
            or (cursor.child and cursor.in_worker)
        ):
            try:
                return operation.call(*args, **kwargs)
            except RuntimeError:
                return _call_with_tensors(operation, func, args, kwargs)
        here["paused"] = True
        try:
            pending, aside = self.look_before(operation, args, kwargs)
        except Exception as error:
            self.sink.fail(error)
            return func(*args, **kwargs)
        finally:
            here["paused"] = False
        probed = self.prober is not None and self._is_probed(self.prober, operation, pending, args, kwargs)
        try:
            result = operation.call(*args, **kwargs)
        except RuntimeError:
            result = _call_with_tensors(operation, func, args, kwargs)
        here["paused"] = True
        try:
            self.record(operation, args, kwargs, result, pending, aside)
            if probed:
                self._probe(func, pending, args, kwargs, result)
        except Exception as error:
            self.sink.fail(error)
        finally:
            here["paused"] = False
        return result

    def _out_of_sight(self) -> Callable[..., Any]:
        """This mode's work, which the compiler does not look into."""
        if self._apart is None:
            never_compiled: Callable[..., Any] = torch.compiler.disable
            self._apart = never_compiled(self.__torch_dispatch__)
        return self._apart

    def _meet(self, func: Any) -> Operation:
        operation = learn(func)
        if operation.moves:
            operation = replace(operation, call=self.unwritten.watch_growth(operation.call))
        self._operations[func] = operation
        return operation

    def _is_probed(
        self,
        prober: Prober,
        operation: Operation,
        pending: PendingOperation,
        args: Any,
        kwargs: dict[str, Any],
    ) -> bool:
        """Whether this is the operation to run again; its inputs are kept then."""
        local = self._local
        local.paused = True
        try:
            step, phase = self.cursor.where()
            place = step, operation.phase or phase, pending.module, pending.call_site, pending.name
            here = prober.is_here(place)
            if here:
                prober.before(args, kwargs)
            return here
        except Exception as error:
            self.sink.fail(error)
            return False
        finally:
            local.paused = False

    def _probe(
        self, func: Any, pending: PendingOperation, args: Any, kwargs: dict[str, Any], result: Any
    ) -> None:
        assert self.prober is not None
        came = self.prober.after(func, make_came(func), args, kwargs, result)
        name = self._operations[func].name
        self.sink.write(
            PendingRecord("probe", name, module=pending.module, call_site=pending.call_site, detail=came)
        )

    def look_before(
        self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[PendingOperation, Aside | None]:
        """An operation that is about to run: its place, the digests of its inputs, flags."""
        memory = self.memory
        memory.settle()
        flags = 0
        own: bytes | Slot | None = None
        if operation.draws:
            flags = schema.DRAWS
            own = self._generators.write(args, kwargs)
        module, site = self._find_place()
        digested: Callable[[torch.Tensor], bytes | Slot] = memory.input
        watched = None
        if self.watch is not None:
            step, _ = self.cursor.where()
            watched = WatchedOperation(self.watch, memory, Place(operation.name, module, site, step))
            digested = watched.digest
        more = [value for name, value in kwargs.items() if name not in operation.outs] if kwargs else ()
        inputs, plain = self._digest_inputs((*args, *more) if more else args, digested)
        if (memory.unwritten or self.unwritten.partly) and self.unwritten.is_read_by(operation, args, kwargs):
            flags |= schema.UNINITIALIZED
        if self._local.loading:
            flags |= schema.LOADER
        pending = PendingOperation(operation.name, module, site, pack_parts(inputs), plain or (), flags)
        return pending, None if own is None and watched is None else Aside(own, watched)

    def _digest_inputs(
        self, values: tuple[Any, ...], digested: Callable[[torch.Tensor], bytes | Slot]
    ) -> tuple[list[bytes | Slot], list[Any]]:
        """The digests of the tensors that an operation is given, and the plain values."""
        inputs: list[bytes | Slot] = []
        plain: list[Any] = []
        for value in values:
            kind = type(value)
            if kind in TENSORS or isinstance(value, torch.Tensor):
                inputs.append(digested(value))
            elif kind in _PRIMITIVE:
                plain.append(value)
            elif isinstance(value, (list, tuple)):
                for item in value:
                    if isinstance(item, torch.Tensor):
                        inputs.append(digested(item))
                    elif isinstance(item, _PRIMITIVES):
                        plain.append(item)
            elif isinstance(value, _PRIMITIVES):
                plain.append(value)
            elif isinstance(value, torch.UntypedStorage):  # of set_, by which torch.load brings data in
                inputs.append(self.memory.storage(value))
        return inputs, plain

    def record(
        self,
        operation: Operation,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        pending: PendingOperation,
        aside: Aside | None,
    ) -> None:
        """Write an operation that has run."""
        memory = self.memory
        flags, put_out, parts = self._digest_outputs(operation, args, kwargs, result, pending.call_site)
        flags |= pending.flags
        for number in operation.unsaid:
            for tensor in list_tensors(args[number]) if number < len(args) else ():
                put_out.append(tensor)
                parts.append(memory.output(tensor))
        if aside is not None and self.watch is not None and aside.watched is not None:
            aside.watched.finish(operation, result, put_out, parts)
            self.recorder.gaps(self.watch.take())
        if flags & schema.DRAWS:
            state = None if aside is None else aside.generator
            pending.detail, drew = self._generators.find_draw(kwargs, state, put_out)
            flags ^= 0 if drew else schema.DRAWS  # dropout of nothing, attention in evaluation
        elif flags & schema.UNINITIALIZED:
            pending.detail = self.unwritten.made_at(args, kwargs)
        pending.step, phase = self._where()
        pending.phase = operation.phase or phase
        pending.parts = pack_parts(parts)
        pending.flags = flags
        self._write(pending)

    def _digest_outputs(
        self,
        operation: Operation,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        site: str | None,
    ) -> _Outputs:
        memory = self.memory
        if operation.pending or (operation.copies and _is_on_its_way(args, kwargs, result)):
            memory.doubt()
            if operation.receives and args and memory.unwritten:
                memory.written(list_tensors(args[0]))
            self._hold(args, kwargs, result)
            return schema.UNHASHED, [], []
        if operation.unwritten:
            line = self.places.find_line_inside() or site
            for tensor in list_tensors(result):
                self.unwritten.made(tensor, line)
            return schema.NEVER_WRITTEN, [], []
        if operation.moves and memory.unwritten and memory.is_unwritten(args[0]):
            return schema.NEVER_WRITTEN, [], []
        if operation.written and (written := operation.writes_to(args, kwargs)):
            return self._digest_written(operation, written, result)
        if isinstance(result, torch.Tensor):
            return 0, [result], [memory.output(result)]
        return self._digest_results(operation, result)

    def _digest_written(self, operation: Operation, written: list[torch.Tensor], result: Any) -> _Outputs:
        """Of an operation that writes to its arguments: these, and its results that are new."""
        memory = self.memory
        if memory.unwritten or self.unwritten.partly:
            self.unwritten.written_to(written)
        memory.written(written)
        parts = [memory.output(tensor, 1) for tensor in written]  # autograd counts the write after its return
        for number in operation.new:
            for tensor in list_tensors(result[number] if isinstance(result, (list, tuple)) else result):
                written.append(tensor)
                parts.append(memory.output(tensor))
        return 0, written, parts

    def _digest_results(self, operation: Operation, result: Any) -> _Outputs:
        """Of several results, or a number: all but the workspace of the backward pass."""
        put_out: list[torch.Tensor] = []
        parts: list[bytes | Slot] = []
        for number, tensor in enumerate(list_tensors(result)):
            if number == operation.workspace:
                self.memory.left_unwritten(tensor, workspace=True)
                continue
            put_out.append(tensor)
            parts.append(self.memory.output(tensor))
        if isinstance(result, (int, float, bool)):
            parts.append(xxh3_128_digest(repr(result).encode()))
        return 0, put_out, parts

    def _hold(self, *values: Any) -> None:
        """Another thread is at work on all of these tensors."""
        if self.watch is not None:
            for value in values:
                for tensor in list_tensors(list(value.values()) if isinstance(value, dict) else value):
                    self.watch.hold(tensor)


def _call_with_tensors(operation: Operation, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Once more after a RuntimeError, where numbers stood for tensors; else that error goes on."""
    given = convert_to_tensors(func, args)
    if given is None:
        raise
    return operation.call(*given, **kwargs)


def _is_on_its_way(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> bool:
    """Whether a device is still copying the result into the host's memory."""
    if not isinstance(result, torch.Tensor) or not result.is_cpu:
        return False
    waits = not (kwargs.get("non_blocking") or (len(args) > 2 and args[2] is True))
    return not waits and any(not tensor.is_cpu for tensor in list_tensors(list(args)))


if _compiling is not None:
    dynamo_skip.skip(Operations.__torch_dispatch__.__code__)
