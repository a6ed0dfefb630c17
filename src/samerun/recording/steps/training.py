"""Backward passes, optimizer steps and checkpoints: losses, gradients, weights and optimizer state."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from samerun import callsite, digest, wrapping
from samerun.callsite import show_path
from samerun.digest.room import room
from samerun.recording.by_identity import ByIdentity
from samerun.recording.recorder import Recorder
from samerun.recording.step_cursor import StepCursor
from samerun.recording.steps import replicas
from samerun.recording.steps.backward_passes import Passes
from samerun.recording.steps.modules import Modules
from samerun.recording.steps.optimizer_names import OptimizerNames, list_parameters
from samerun.recording.steps.optimizer_state import State, are_tensors, find
from samerun.recording.steps.weight_samples import Values
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.tensor_digests import number_of, walk_tensors
from samerun.runs import schema
from samerun.wrapping import Parameter

_gradient: Callable[[torch.Tensor], torch.Tensor | None] = attrgetter("grad")


class _Call(NamedTuple):
    """What is to be known of the arguments of a function that makes a backward pass."""

    roots: Parameter
    inputs: Parameter
    create_graph: Parameter


# torch.distributed's functions that step an optimizer so that it has state, and the modules in between
_FILL_STATE = frozenset({"_init_optim_state", "init_state"})
_OF_STEPS = ("samerun.", "torch.optim.", "torch._compile", "torch._dynamo.", "torch.utils._contextlib")
_CALLS = {
    "backward": _Call(Parameter("tensors", 0), Parameter("inputs", 5), Parameter("create_graph", 3)),
    schema.DERIVED: _Call(Parameter("outputs", 0), Parameter("inputs", 1), Parameter("create_graph", 4)),
}


class _Scaled(NamedTuple):
    """A loss that a GradScaler scaled."""

    loss: weakref.ref[torch.Tensor]
    before: torch.Tensor | None  # its value, for people


class _OptimizerStep(threading.local):
    """The optimizers in a step of this thread: one may wrap another, and the outermost counts."""

    def __init__(self) -> None:
        self.optimizers: list[Optimizer] = []
        self.names: list[str] = []  # of the parameters whose gradients were read as it began
        self.fills_state = False  # it trains nothing: torch makes it so that there is state to load into


class Training:
    """Follows losses and optimizers."""

    def __init__(self, recorder: Recorder, modules: Modules) -> None:
        self.recorder = recorder
        self.modules = modules
        self._optimizers = OptimizerNames(modules)
        self._states: weakref.WeakKeyDictionary[Optimizer, State] = weakref.WeakKeyDictionary()
        self._made: ByIdentity[Optimizer, weakref.ref[Optimizer]] = ByIdentity()
        self._stepping = _OptimizerStep()
        self._phase = "forward"
        self._threads: set[int] = set()  # that have trained
        self._replicas = replicas.observe(recorder)
        self._values = Values(recorder) if recorder.plan.values else None
        self._passes = Passes(recorder, modules, self._values)
        self._scaled: _Scaled | None = None

    def _trains(self) -> None:
        """This thread trains; where others do as well, the order of their steps is a race."""
        self.recorder.cursor.trains()
        own = threading.get_ident()
        if own not in self._threads:
            self._threads.add(own)
            if self.recorder.trains(own):
                self.recorder.sink.write(PendingRecord("threads", schema.TRAINING))

    # --- losses ------------------------------------------------------------------------------------

    def loss(self, name: str, roots: Any) -> None:
        """A backward pass starts from these tensors."""
        recorder, sink = self.recorder, self.recorder.sink
        self._trains()
        recorder.begin()
        recorder.rngs.loss_made()
        if self._passes.count:
            recorder.stop_if_due()
        for tensor in walk_tensors(roots):  # of a generator none, which only torch may empty
            value = number_of(tensor)
            if self._scaled is not None and self._scaled.loss() is tensor:
                value = self._scaled.before
            recorder.watched("loss", [tensor])
            parts = [sink.tensors.digest(tensor)]
            sink.write(PendingRecord("loss", name, phase="forward", parts=parts, loss=value))

    def passed(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """It has returned, and was none within another."""
        call = _CALLS[name]
        differentiable = bool(call.create_graph.of(args, kwargs, False))
        if self.recorder.cursor.local.closure and not differentiable:
            self.recorder.cursor.phase = "optimizer"  # until the closure is called again
        inputs = call.inputs.of(args, kwargs, None)
        self._passes.passed(call.roots.of(args, kwargs), inputs, result, differentiable)

    def scaled(self, before: Any, after: Any) -> None:
        """A GradScaler scaled a loss: people know it by its value before."""
        if issubclass(type(before), torch.Tensor) and issubclass(type(after), torch.Tensor):
            self._scaled = _Scaled(weakref.ref(after), number_of(before))

    # --- initial weights ---------------------------------------------------------------------------

    def made(self, optimizer: Optimizer) -> None:
        """An optimizer was made, or read from a file: its parameters are about to be trained."""
        if optimizer in self._made:
            return  # a state was loaded into it
        self.recorder.sink.write(PendingRecord("trains", type(optimizer).__name__))
        self._made[optimizer] = weakref.ref(optimizer)
        self._passes.leave_to_optimizers()

    def initial(self) -> None:
        """The weights as the setup left them, before the first batch is loaded.

        Their names are not known before the model runs; the records of the first step bring them.
        """
        for reference in self._made.values():
            if (optimizer := reference()) is not None:
                parameters, label = list_parameters(optimizer), self._optimizers.label(optimizer)
                sink = self.recorder.sink
                parts = sink.tensors.group(f"parameters:{label}", parameters)
                self.recorder.watched("parameters", parameters)
                record = PendingRecord("parameters", label, parts=parts, keep_parts=True)
                record.phase = "setup"  # whatever another thread does meanwhile
                sink.write(record)

    # --- optimizer steps ---------------------------------------------------------------------------

    def before_step(self, optimizer: Optimizer, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """The gradients, as the optimizer is about to use them."""
        recorder, cursor = self.recorder, self.recorder.cursor
        stepping = self._stepping.optimizers
        if stepping:
            stepping[:] = _select_stepping(
                stepping
            )  # one that raised in the middle of a step left itself here
        if stepping and optimizer not in stepping:
            stepping.append(optimizer)
            return
        stepping[:] = [optimizer]
        self._stepping.fills_state = _fills_state()
        if self._stepping.fills_state:
            return
        self._passes.leave_to_optimizers()  # one that was copied, or read from a file, was never made
        self._trains()
        recorder.stop_if_due()
        recorder.begin()
        cursor.phase = "optimizer"
        cursor.local.closure = _has_closure(arguments, keywords)
        if not cursor.local.closure:
            frame = callsite.find_user_frame(2)
            cursor.site = None if frame is None else callsite.call_site(frame)
            self._gradients(optimizer)

    def after_step(self, optimizer: Optimizer, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """The weights, buffers and optimizer state that the step left."""
        if len(self._stepping.optimizers) > 1:
            self._stepping.optimizers.pop()
            return
        self._stepping.optimizers.clear()
        if self._stepping.fills_state:
            return
        cursor = self.recorder.cursor
        cursor.local.closure = False
        cursor.phase = "optimizer"
        if _has_closure(arguments, keywords):
            self._gradients(optimizer)
        label, parameters = self._optimizers.label(optimizer), list_parameters(optimizer)
        names = self._stepping.names
        if len(names) != len(parameters):  # a step that added some
            names = self._optimizers.name_parameters(optimizer, parameters)
        self.modules.group_of("parameters", label, names, parameters, label, phase="optimizer")
        self._state(optimizer, label, names, parameters)
        self.modules.group("buffers", "buffers", list(self.modules.buffers()), label)
        self._replicas.stepped(label, parameters)
        if self._values is not None:
            self._values.write(optimizer, label, parameters)
        self.recorder.end_step()

    def _gradients(self, optimizer: Optimizer) -> None:
        parameters = list_parameters(optimizer)
        names = self._stepping.names = self._optimizers.name_parameters(optimizer, parameters)
        gradients = list(map(_gradient, parameters))
        self.modules.group_of("gradients", self._optimizers.label(optimizer), names, gradients)

    def _state(
        self, optimizer: Optimizer, label: str, names: list[str], parameters: list[torch.Tensor]
    ) -> None:
        """One part for each tensor of the state; numbers in it are digested together, as one more part."""
        known = self._states.get(optimizer)
        if known is not None and known.names is names and (values := known.values(optimizer.state)):
            digests = self.recorder.sink.tensors.alike(f"optimizer:{label}", values)
            if digests is not None or are_tensors(values):
                self.modules.group_of("optimizer", label, known.of_parts, values, label, digests=digests)
                return
        found = find(optimizer.state, parameters, names)
        if not found.tensors and not found.numbers:
            return
        of_parts = found.names + ["numbers"] * bool(found.numbers)
        if known is not None and known.of_parts == of_parts:
            of_parts = known.of_parts
        self._states[optimizer] = State(names, of_parts, optimizer.state, found)
        rest = digest.digest_value(found.numbers) if found.numbers else None
        self.modules.group_of("optimizer", label, of_parts, found.tensors, label, rest=rest)

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The states of the optimizers, by name."""
        for optimizer, label in self._optimizers.labels():
            parameters = list_parameters(optimizer)
            for name, parameter in zip(
                self._optimizers.name_parameters(optimizer, parameters), parameters, strict=True
            ):
                for key, value in optimizer.state.get(parameter, {}).items():
                    if isinstance(value, torch.Tensor):
                        yield f"{label}: {name}.{key}", value

    # --- checkpoints -------------------------------------------------------------------------------

    def saved(self, value: Any, file: Any) -> None:
        """What torch.save is about to write: its tensors, since the rest may tell the time of day."""
        path = os.fsdecode(file) if isinstance(file, (str, bytes, os.PathLike)) else None
        if path is not None:  # torch writes the file past Python's audit hook
            shown = show_path(callsite.make_absolute(path))
            frame = callsite.find_user_frame(2)
            site = None if frame is None else callsite.call_site(frame)
            self.recorder.sink.write(PendingRecord("written", schema.SAVED, call_site=site, detail=shown))
        found = list(_walk_saved_tensors(value))
        if found:
            sink = self.recorder.sink
            name = os.path.basename(path) if path is not None else schema.SAVED
            keys, parts = [key for key, _ in found], [sink.tensors.digest(tensor) for _, tensor in found]
            sink.write(PendingRecord("saved", name, parts=parts, keys=keys))


def _has_closure(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    return keywords.get("closure") is not None or any(callable(value) for value in arguments[1:])


def _fills_state() -> bool:
    """Whether torch.distributed makes the step, with zero gradients and rate, before it loads a state."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OF_STEPS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name in _FILL_STATE and _is_of_torch(frame)


def _is_of_torch(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("torch.distributed.")


def _select_stepping(optimizers: list[Optimizer]) -> list[Optimizer]:
    """Those of the optimizers that are the `self` of a frame that runs, as in torch's wrapper of `step`."""
    running = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        running.append(frame.f_locals.get("self"))
        frame = frame.f_back
    return [optimizer for optimizer in optimizers if any(it is optimizer for it in running)]


def _walk_saved_tensors(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """Each with the names and indices that lead to it, without numbers that are keys.

    An optimizer's state has those, and counts by them what may come in another order.
    """
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if issubclass(type(value), torch.Tensor):
        yield key, value
    elif depth < 8:
        if isinstance(value, dict):
            for name, item in value.items():
                inner = f"{key}/{name}" if type(name) is str else f"{key}/#"
                yield from _walk_saved_tensors(item, inner, depth + 1)
        elif isinstance(value, (list, tuple)):
            for number, item in enumerate(value):
                yield from _walk_saved_tensors(item, f"{key}/{number}", depth + 1)


def observe(recorder: Recorder, modules: Modules) -> None:
    """Hook backward passes, optimizers, gradient scalers and torch.save."""
    training = Training(recorder, modules)
    recorder.named.append(training.tensors)
    room.watch()
    # A step inside a compiled function breaks the graph here: without its records there is no verdict.
    never_compiled: Callable[..., Any] = torch._compile._disable_dynamo
    register_optimizer_step_pre_hook(never_compiled(recorder.guard(training.before_step)))
    register_optimizer_step_post_hook(never_compiled(recorder.guard(training.after_step)))
    recorder.after_setup.append(training.initial)
    _wrap_making(recorder.guard(training.made))
    _wrap_backward(recorder.cursor, recorder.guard(training.loss), recorder.guard(training.passed))
    _wrap_scaler(recorder.guard(training.scaled))
    _wrap_save(recorder.guard(training.saved))


def _wrap_making(made: Callable[..., Any]) -> None:
    def make(original: Callable[..., None], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        original(*args, **kwargs)
        made(wrapping.SELF.of(args, kwargs))

    for name in ("__init__", "__setstate__"):
        wrapping.wrap_attribute(Optimizer, name, make)


def _wrap_backward(cursor: StepCursor, loss: Callable[..., Any], passed: Callable[..., Any]) -> None:
    def wrap(name: str, parameter: Parameter) -> None:
        def run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if torch.compiler.is_compiling() or cursor.local.paused:
                return original(*args, **kwargs)
            roots = parameter.of(args, kwargs)
            if isinstance(roots, Iterator):  # can be read once: what is read is passed on
                roots = tuple(roots)
                args, kwargs = parameter.put(args, kwargs, roots)
            if isinstance(roots, (torch.Tensor, Sequence)):
                loss(name, roots)
            phase, cursor.phase = cursor.phase, "backward"
            try:
                result = original(*args, **kwargs)
            finally:
                cursor.phase = phase
                cursor.began = False
            if phase != "backward":  # as one is in which a checkpoint computes again
                passed(name, args, kwargs, result)
            return result

        wrapping.wrap_attribute(torch.autograd, name, run)

    for name, call in _CALLS.items():
        wrap(name, call.roots)


def _wrap_scaler(scaled: Callable[..., Any]) -> None:
    outputs = Parameter("outputs", 1)

    def scale(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = original(*args, **kwargs)
        scaled(outputs.of(args, kwargs), result)
        return result

    wrapping.wrap_attribute(torch.amp.grad_scaler.GradScaler, "scale", scale)


def _wrap_save(saved: Callable[..., Any]) -> None:
    value, file = Parameter("obj", 0), Parameter("f", 1)

    def save(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if file.of(args, kwargs) is not wrapping.MISSING:
            saved(value.of(args, kwargs), file.of(args, kwargs))
        return original(*args, **kwargs)

    wrapping.wrap_attribute(torch, "save", save, [torch.serialization])
