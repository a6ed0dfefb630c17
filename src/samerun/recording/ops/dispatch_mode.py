"""Tier `ops`: every dispatched operation, with digests of what went in and what came out."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from xxhash import xxh3_128_digest

from samerun import callsite
from samerun.recording import dynamo_skip
from samerun.recording.ops.digest_cache import Memory
from samerun.recording.ops.external_writes import Place, Read, Watch
from samerun.recording.ops.op_schema import TENSORS, Operation, learn, list_tensors, make_came, own_generator
from samerun.recording.ops.uninitialized import UnwrittenMemory
from samerun.recording.ops.wrapped_numbers import convert_to_tensors
from samerun.recording.recorder import Recorder
from samerun.recording.replay.probe import Prober
from samerun.recording.trace.tensor_digests import Slot
from samerun.runs import schema

_PRIMITIVES = (int, float, bool, str, complex, torch.dtype)
_PRIMITIVE = frozenset(_PRIMITIVES)

# by a name of their own: each is asked for at every operation
_node: Callable[[], Any] = torch._C._current_autograd_node  # typed as never None, and is in the forward
_number = torch._C._autograd._get_sequence_nr
_grad_is_on = torch.is_grad_enabled

_compiling: Callable[[], Any] | None = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", None)


# In a window: where an operation is, and what it read there, as it was then.
_Watched = tuple[Place, list[Read]]
# What is known of an operation before it runs: the digests of its inputs, its arguments that are no tensors,
# flags, module, call site, the state of a generator that it is given.
_Before = tuple[
    list[bytes | Slot], list[Any], int, str | None, str | None, bytes | Slot | None, _Watched | None
]


class Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records every operation dispatched while it is active."""

    def __init__(self, recorder: Recorder, path: Callable[[], str | None]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.recorder = recorder
        self._local = recorder.local
        self.path = path
        self.memory = Memory(recorder.tensors)
        self.watch: Watch | None = None
        self.prober = None if recorder.plan.probe is None else Prober(recorder.plan.probe)
        self._operations: dict[Any, Operation] = {}  # not by id(), which tells all audit hooks each time
        self._apart: Callable[..., Any] | None = None  # itself, out of the compiler's sight
        self._sites: dict[tuple[CodeType, int], str] = {}
        self.unwritten = UnwrittenMemory(self.memory, recorder, lambda: self._place()[1])
        self._made: dict[int, tuple[str | None, str | None]] = {}  # autograd node → where its forward ran

    def forget(self) -> None:
        """At the end of a step."""
        self._made.clear()
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
        recorder, here = self.recorder, self._local.__dict__  # found once: each access finds the thread
        if (
            operation.silent
            or here["paused"]
            or here["compiled"]
            or recorder.failed
            or (recorder.child and recorder.in_worker)
        ):
            try:
                return operation.call(*args, **kwargs)
            except RuntimeError:
                return _call_with_tensors(operation, func, args, kwargs)
        here["paused"] = True
        try:
            before = self._before(operation, args, kwargs)
        except Exception as error:
            recorder.fail(error)
            return func(*args, **kwargs)
        finally:
            here["paused"] = False
        probed = self.prober is not None and self._is_probed(self.prober, operation, before, args, kwargs)
        try:
            result = operation.call(*args, **kwargs)
        except RuntimeError:
            result = _call_with_tensors(operation, func, args, kwargs)
        here["paused"] = True
        try:
            self._after(operation, args, kwargs, result, before)
            if probed:
                self._probe(func, before, args, kwargs, result)
        except Exception as error:
            recorder.fail(error)
        finally:
            here["paused"] = False
        return result

    def _out_of_sight(self) -> Callable[..., Any]:
        """This mode's work, which the compiler does not look into."""
        if self._apart is None:
            never_compiled: Callable[..., Any] = torch.compiler.disable
            self._apart = never_compiled(self.__torch_dispatch__)
        return self._apart

    def compiled(self, operation: Operation, inputs: tuple[Any, ...]) -> Any:
        """Call what was compiled with these inputs, and record it as the one operation that it is now."""
        recorder, local = self.recorder, self._local
        if local.paused or local.compiled or recorder.failed or (recorder.child and recorder.in_worker):
            return operation.call()
        local.paused = True
        try:
            before = self._before(operation, inputs, {})
            if _node() is None:  # its autograd node was made just before, and gradients are off inside
                self._made.setdefault(_number() - 1, (before[3], before[4]))
        except Exception as error:
            recorder.fail(error)
            return operation.call()
        finally:
            local.paused = False
        local.compiled = True
        try:
            result = operation.call()
        finally:
            local.compiled = False
        local.paused = True
        try:
            self.memory.doubt()  # it wrote past the dispatcher
            every = tuple(range(len(result))) if isinstance(result, (list, tuple)) else ()
            self._after(replace(operation, new=every), inputs, {}, result, before)
        except Exception as error:
            recorder.fail(error)
        finally:
            local.paused = False
        return result

    def _meet(self, func: Any) -> Operation:
        operation = learn(func)
        if operation.moves:
            operation = replace(operation, call=self.unwritten.told_of_growth(operation.call))
        self._operations[func] = operation
        return operation

    def _is_probed(
        self, prober: Prober, operation: Operation, before: _Before, args: Any, kwargs: dict[str, Any]
    ) -> bool:
        """Whether this is the operation to run again; its inputs are kept then."""
        local = self.recorder.local
        local.paused = True
        try:
            step, phase = self.recorder.where()
            here = prober.is_here((step, operation.phase or phase, before[3], before[4], operation.name))
            if here:
                prober.before(args, kwargs)
            return here
        except Exception as error:
            self.recorder.fail(error)
            return False
        finally:
            local.paused = False

    def _probe(self, func: Any, before: _Before, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        assert self.prober is not None
        said = self.prober.after(func, make_came(func), args, kwargs, result)
        name = self._operations[func].name
        self.recorder.row("probe", name, module=before[3], call_site=before[4], detail=said)

    def _before(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Before:
        """Digests of the inputs, flags, module, call site, and the state of a generator that it is given."""
        recorder, memory = self.recorder, self.memory
        memory.settle()
        flags = 0
        own: bytes | Slot | None = None
        if operation.draws:
            flags = schema.DRAWS
            own = self._generator(args, kwargs)
        module, site = self._place()
        digested: Callable[[torch.Tensor], bytes | Slot] = memory.input
        watched: _Watched | None = None
        if self.watch is not None:
            watched = Place(operation.name, module, site, recorder.where()[0]), []
            digested = functools.partial(self._watched, self.watch, watched)
        inputs: list[bytes | Slot] = []
        plain: list[Any] = []
        more = [value for name, value in kwargs.items() if name not in operation.outs] if kwargs else ()
        for value in (*args, *more) if more else args:
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
                inputs.append(memory.storage(value))
        if memory.unwritten and self.unwritten.is_read_by(operation, args, kwargs):
            flags |= schema.UNINITIALIZED
        if self._local.loading:
            flags |= schema.LOADER
        return inputs, plain, flags, module, site, own, watched

    def _place(self) -> tuple[str | None, str | None]:
        """The module that is running, and the line of the user's code."""
        node = _node()
        if node is not None:
            return self._made.get(node._sequence_nr(), (None, None))
        place = self.path(), self.recorder.site or self._site()
        if _grad_is_on():
            # An operation's autograd node is made just before it is dispatched, and took the last number.
            self._made.setdefault(_number() - 1, place)
        return place

    def _watched(self, watch: Watch, watched: _Watched, tensor: torch.Tensor) -> bytes | Slot:
        """The digest of an input that is hashed again, whatever is known of it."""
        here, read = watched
        fresh = watch.read(tensor, here)
        if fresh is not None:
            read.append((tensor, fresh))
        if isinstance(fresh, Slot) and not self.memory.is_unwritten(tensor):
            return fresh
        return self.memory.input(tensor)  # as it is without a window, so that both can be compared

    def _after(
        self,
        operation: Operation,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        before: _Before,
    ) -> None:
        tensors, values, flags, module, site, own, watched = before
        memory = self.memory
        parts: list[bytes | Slot] = []
        put_out: list[torch.Tensor] = []  # what the parts are digests of
        if operation.pending or (operation.copies and _is_on_its_way(args, kwargs, result)):
            flags |= schema.UNHASHED
            memory.doubt()
            self._hold(args, kwargs, result)
        elif operation.unwritten:
            flags |= schema.NEVER_WRITTEN
            line = self._line_inside() or site
            for tensor in list_tensors(result):
                self.unwritten.made(tensor, line)
        elif operation.moves and memory.unwritten and memory.is_unwritten(args[0]):
            flags |= schema.NEVER_WRITTEN
        elif operation.written and (put_out := operation.writes_to(args, kwargs)):
            if memory.unwritten:
                self.unwritten.written_to(put_out)
            memory.written(put_out)
            for tensor in put_out:
                parts.append(memory.output(tensor, 1))  # autograd counts the write after it has returned
            for number in operation.new:
                for tensor in list_tensors(result[number] if isinstance(result, (list, tuple)) else result):
                    put_out.append(tensor)
                    parts.append(memory.output(tensor))
        elif isinstance(result, torch.Tensor):
            put_out = [result]
            parts = [memory.output(result)]
        else:
            for number, tensor in enumerate(list_tensors(result)):
                if number == operation.workspace:
                    memory.left_unwritten(tensor, workspace=True)
                    continue
                put_out.append(tensor)
                parts.append(memory.output(tensor))
            if isinstance(result, (int, float, bool)):
                parts.append(xxh3_128_digest(repr(result).encode()))
        for number in operation.unsaid:
            for tensor in list_tensors(args[number]) if number < len(args) else ():
                put_out.append(tensor)
                parts.append(memory.output(tensor))
        if self.watch is not None and watched is not None:
            self._watch(self.watch, watched, operation, result, put_out, parts)
        detail = None
        if flags & schema.DRAWS:
            detail, drew = self._drew(own_generator(kwargs), own, put_out)
            flags ^= 0 if drew else schema.DRAWS  # dropout of nothing, attention in evaluation
        elif flags & schema.UNINITIALIZED:
            detail = self.unwritten.made_at(args, kwargs)
        self.recorder.operation(
            operation.name, operation.phase, module, site, parts, tensors, values, flags, detail
        )

    def _watch(
        self,
        watch: Watch,
        watched: _Watched,
        operation: Operation,
        result: Any,
        put_out: Sequence[torch.Tensor],
        parts: Sequence[bytes | Slot],
    ) -> None:
        """What an operation left in memory, and the gaps that it met."""
        here, read = watched
        for tensor, digest in zip(put_out, parts, strict=False):  # a number is a part too, the last one
            watch.wrote(tensor, digest, here)
        if operation.unwritten:
            for tensor in list_tensors(result):
                watch.left_unwritten(tensor, here)
        if put_out:
            known = set(map(id, put_out))
            read = [item for item in read if id(item[0]) not in known]
        watch.left(read, here, not operation.trusted)
        self.recorder.gaps(watch.take())

    def _hold(self, *values: Any) -> None:
        """Another thread is at work on all of these tensors."""
        if self.watch is not None:
            for value in values:
                for tensor in list_tensors(list(value.values()) if isinstance(value, dict) else value):
                    self.watch.hold(tensor)

    def _line_inside(self) -> str | None:
        """The user's line that runs now, where the line of the record is that of an optimizer's step."""
        frame = None if self.recorder.site is None else callsite.find_user_frame(2)
        return None if frame is None else callsite.call_site(frame)

    def _site(self) -> str | None:
        """The line of the user's code that asked for this operation."""
        frame = callsite.find_user_frame(5)
        if frame is None:
            return None
        key = frame.f_code, frame.f_lasti  # cheaper than the number of the line
        site = self._sites.get(key)
        if site is None:
            site = self._sites[key] = callsite.call_site(frame)
        return site

    def _generator(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes | Slot | None:
        """Write the state that is about to be drawn from; that of the script's own generator."""
        generator = own_generator(kwargs)
        if generator is None:
            self.recorder.rng(f"torch-{_find_device(args, kwargs)}")
            return None
        state = self.recorder.tensors.digest(generator.get_state())
        self.recorder.row("rng", _own(generator), parts=[state])
        return state

    def _drew(
        self,
        generator: torch.Generator | None,
        before: bytes | Slot | None,
        put_out: Sequence[torch.Tensor],
    ) -> tuple[str | None, bool]:
        """(the generator that was drawn from, whether its state moved)."""
        if generator is not None:
            return _own(generator), self.recorder.tensors.digest(generator.get_state()) != before
        if not put_out:
            return None, True
        name = f"torch-{put_out[0].device.type}"
        return name, self.recorder.rng_moved(name) is not False


def _call_with_tensors(operation: Operation, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Once more after a RuntimeError, where numbers stood for tensors; else that error goes on."""
    given = convert_to_tensors(func, args)
    if given is None:
        raise
    return operation.call(*given, **kwargs)


def _find_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The type of the device that an operation is about to draw on."""
    for value in (*args, *kwargs.values()):  # out=, too
        for tensor in list_tensors(value):
            return tensor.device.type
    return torch.device(kwargs.get("device") or "cpu").type


def _own(generator: torch.Generator) -> str:
    return f"torch-{generator.device.type}:generator"


def _is_on_its_way(args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> bool:
    """Whether a device is still copying the result into the host's memory."""
    if not isinstance(result, torch.Tensor) or not result.is_cpu:
        return False
    waits = not (kwargs.get("non_blocking") or (len(args) > 2 and args[2] is True))
    return not waits and any(not tensor.is_cpu for tensor in list_tensors(list(args)))


if _compiling is not None:
    dynamo_skip.skip(Operations.__torch_dispatch__.__code__)
