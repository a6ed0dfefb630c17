"""Backward passes, optimizer steps and checkpoints: losses, gradients, weights and optimizer state."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from samerun import digest
from samerun.recording import replicas
from samerun.recording.files import shown
from samerun.recording.modules import Modules
from samerun.recording.recorder import Recorder
from samerun.recording.values import Values
from samerun.sources import _user_code

# Of an optimizer's state: for each tensor the number of its parameter, its key; whether there are numbers;
# the names of the parameters.
_Layout = tuple[list[int], list[str], bool, list[str]]
_EMPTY: Mapping[str, Any] = {}


class _Stepping(threading.local):
    """The optimizers in a step of this thread: one may wrap another, and the outermost counts."""

    def __init__(self) -> None:
        self.optimizers: list[Optimizer] = []


class Training:
    """Follows losses and optimizers."""

    def __init__(self, recorder: Recorder, modules: Modules) -> None:
        self.recorder = recorder
        self.modules = modules
        self._labels: weakref.WeakKeyDictionary[Optimizer, str] = weakref.WeakKeyDictionary()
        self._names: weakref.WeakKeyDictionary[Optimizer, tuple[list[int], list[str]]] = (
            weakref.WeakKeyDictionary()
        )
        self._layouts: weakref.WeakKeyDictionary[Optimizer, tuple[_Layout, list[str]]] = (
            weakref.WeakKeyDictionary()
        )
        self._made: list[weakref.ref[Optimizer]] = []
        self._stepping = _Stepping()
        self._phase = "forward"
        self._replicas = replicas.observe(recorder)
        self._values = Values(recorder) if recorder.plan.values else None
        self._unscaled: tuple[weakref.ref[torch.Tensor], torch.Tensor] | None = None

    # --- losses ------------------------------------------------------------------------------------

    def loss(self, name: str, roots: Any) -> None:
        """A backward pass starts from these tensors."""
        recorder = self.recorder
        recorder.trains()
        recorder.begin()
        recorder.loss_made()
        tensors = [roots] if isinstance(roots, torch.Tensor) else list(roots)
        for tensor in tensors:
            if not isinstance(tensor, torch.Tensor):
                continue
            value = tensor.detach()
            if self._unscaled is not None and self._unscaled[0]() is tensor:
                value = self._unscaled[1]
            recorder.watched("loss", [tensor.detach()])
            recorder.row(
                "loss",
                name,
                parts=[recorder.tensors.digest(tensor.detach())],
                loss=value if value.numel() == 1 and not value.is_complex() else None,
                phase="forward",
            )

    def scaled(self, before: Any, after: Any) -> None:
        """A GradScaler scaled a loss: people know it by its value before."""
        if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
            self._unscaled = (weakref.ref(after), before.detach())

    # --- initial weights ---------------------------------------------------------------------------

    def made(self, optimizer: Optimizer) -> None:
        """An optimizer was made: its parameters are about to be trained."""
        self.recorder.row("trains", type(optimizer).__name__)
        self._made.append(weakref.ref(optimizer))

    def initial(self) -> None:
        """The weights as the setup left them, before the first batch is loaded.

        Their names are not known before the model runs; the records of the first step bring them.
        """
        digest_ = self.recorder.tensors.digest
        for reference in self._made:
            if (optimizer := reference()) is not None:
                parameters = _parameters(optimizer)
                parts = [digest_(parameter) for parameter in parameters]
                self.recorder.watched("parameters", parameters)
                self.recorder.row("parameters", self._label(optimizer), parts=parts, keep_parts=True)

    # --- optimizer steps ---------------------------------------------------------------------------

    def before_step(self, optimizer: Optimizer, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """The gradients, as the optimizer is about to use them."""
        recorder = self.recorder
        stepping = self._stepping.optimizers
        if stepping and optimizer not in stepping:
            stepping.append(optimizer)
            return
        stepping[:] = [optimizer]  # one that raised in the middle of a step left itself here
        recorder.trains()
        recorder.stop_if_due()
        recorder.begin()
        recorder.phase = "optimizer"
        if not _has_closure(arguments, keywords):
            frame = _user_code.user_frame(2)
            recorder.site = None if frame is None else _user_code.call_site(frame)
            self._gradients(optimizer)

    def after_step(self, optimizer: Optimizer, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """The weights, buffers and optimizer state that the step left."""
        if len(self._stepping.optimizers) > 1:
            self._stepping.optimizers.pop()
            return
        self._stepping.optimizers.clear()
        recorder = self.recorder
        recorder.phase = "optimizer"
        if _has_closure(arguments, keywords):
            self._gradients(optimizer)
        label, parameters = self._label(optimizer), _parameters(optimizer)
        names = self._name(optimizer, parameters)
        self.modules.group_of("parameters", label, names, parameters, label)
        self._state(optimizer, label, names, parameters)
        self.modules.group("buffers", "buffers", list(self.modules.buffers()), label)
        self._replicas.stepped(label, parameters)
        if self._values is not None:
            self._values.write(optimizer, label, parameters)
        recorder.end_step()

    def _gradients(self, optimizer: Optimizer) -> None:
        parameters = _parameters(optimizer)
        names, gradients = self._name(optimizer, parameters), [parameter.grad for parameter in parameters]
        self.modules.group_of("gradients", self._label(optimizer), names, gradients)

    def _state(
        self, optimizer: Optimizer, label: str, names: list[str], parameters: list[torch.Tensor]
    ) -> None:
        """One part for each tensor of the state; numbers in it are digested together, as one more part."""
        of: list[int] = []  # the number of the parameter that each tensor belongs to
        keys: list[str] = []
        tensors: list[torch.Tensor] = []
        numbers: list[Any] = []
        states = optimizer.state
        for number, parameter in enumerate(parameters):
            for key, value in states.get(parameter, _EMPTY).items():
                if isinstance(value, torch.Tensor):
                    of.append(number)
                    keys.append(key)
                    tensors.append(value)
                elif isinstance(value, (int, float)):
                    numbers.append((key, value))
        if tensors or numbers:
            layout = of, keys, bool(numbers), names
            known = self._layouts.get(optimizer)
            if known is None or known[0] != layout:
                named = [f"{names[number]}.{key}" for number, key in zip(of, keys, strict=True)]
                known = self._layouts[optimizer] = layout, named + ["numbers"] * bool(numbers)
            rest = digest.digest_value(numbers) if numbers else None
            self.modules.group_of("optimizer", label, known[1], tensors, label, rest)

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The states of the optimizers, by name."""
        for optimizer, label in list(self._labels.items()):
            parameters = _parameters(optimizer)
            for name, parameter in zip(self._name(optimizer, parameters), parameters, strict=True):
                for key, value in optimizer.state.get(parameter, {}).items():
                    if isinstance(value, torch.Tensor):
                        yield f"{label}: {name}.{key}", value

    def _label(self, optimizer: Optimizer) -> str:
        label = self._labels.get(optimizer)
        if label is None:
            kind = type(optimizer).__name__
            same = sum(1 for other in self._labels if type(other).__name__ == kind)
            label = self._labels[optimizer] = f"{kind}#{same}" if same else kind
        return label

    def _name(self, optimizer: Optimizer, parameters: Sequence[torch.Tensor]) -> list[str]:
        """The names of an optimizer's parameters, which stand in the order of its groups."""
        ids = list(map(id, parameters))
        known = self._names.get(optimizer)
        if known is None or known[0] != ids:
            by_id = self.modules.parameter_names()
            names = [by_id.get(key, f"parameter{n}") for n, key in enumerate(ids)]
            known = self._names[optimizer] = (ids, names)
        return known[1]

    # --- checkpoints -------------------------------------------------------------------------------

    def saved(self, value: Any, file: Any) -> None:
        """What torch.save is about to write: its tensors, since the rest may tell the time of day."""
        path = os.fsdecode(file) if isinstance(file, (str, bytes, os.PathLike)) else None
        if path is not None:  # torch writes the file past Python's audit hook
            self.recorder.row("written", "torch.save", detail=shown(os.path.abspath(path)))
        tensors = list(_saved_tensors(value))
        if tensors:
            digest_ = self.recorder.tensors.digest
            name = os.path.basename(path) if path is not None else "torch.save"
            self.recorder.row("saved", name, parts=[digest_(tensor) for tensor in tensors])


def _has_closure(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    return keywords.get("closure") is not None or any(callable(value) for value in arguments[1:])


def _parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _saved_tensors(value: Any, depth: int = 0) -> Any:
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if isinstance(value, torch.Tensor):
        yield value.detach()
    elif depth < 8:
        if isinstance(value, dict):
            for item in value.values():
                yield from _saved_tensors(item, depth + 1)
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from _saved_tensors(item, depth + 1)


def observe(recorder: Recorder, modules: Modules) -> None:
    """Hook backward passes, optimizers, gradient scalers and torch.save."""
    training = Training(recorder, modules)
    recorder.named.append(training.tensors)
    # A step inside a compiled function breaks the graph here: without its records there is no verdict.
    never_compiled: Callable[..., Any] = torch._compile._disable_dynamo
    register_optimizer_step_pre_hook(never_compiled(recorder.guard(training.before_step)))
    register_optimizer_step_post_hook(never_compiled(recorder.guard(training.after_step)))
    recorder.after_setup.append(training.initial)
    _wrap_init(recorder.guard(training.made))
    _wrap_backward(recorder, recorder.guard(training.loss))
    _wrap_scaler(recorder.guard(training.scaled))
    _wrap_save(recorder.guard(training.saved))


def _wrap_init(made: Callable[..., Any]) -> None:
    original: Callable[..., None] = Optimizer.__init__

    @functools.wraps(original)
    def __init__(self: Optimizer, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        made(self)

    Optimizer.__init__ = __init__  # type: ignore[method-assign]


def _wrap_backward(recorder: Recorder, loss: Callable[..., Any]) -> None:
    for name in ("backward", "grad"):
        original = getattr(torch.autograd, name)

        @functools.wraps(original)
        def wrapped(
            roots: Any,
            *arguments: Any,
            _original: Callable[..., Any] = original,
            _name: str = name,
            **keywords: Any,
        ) -> Any:
            if torch.compiler.is_compiling() or recorder.local.paused:
                return _original(roots, *arguments, **keywords)
            loss(_name, roots)
            phase, recorder.phase = recorder.phase, "backward"
            try:
                return _original(roots, *arguments, **keywords)
            finally:
                recorder.phase = phase
                recorder.began = False

        setattr(torch.autograd, name, wrapped)


def _wrap_scaler(scaled: Callable[..., Any]) -> None:
    scaler = torch.amp.grad_scaler.GradScaler
    original = scaler.scale

    @functools.wraps(original)
    def scale(self: Any, outputs: Any) -> Any:
        result = original(self, outputs)
        scaled(outputs, result)
        return result

    scaler.scale = scale  # type: ignore[method-assign]


def _wrap_save(saved: Callable[..., Any]) -> None:
    original = torch.save

    @functools.wraps(original)
    def save(obj: Any, f: Any, *arguments: Any, **keywords: Any) -> Any:
        saved(obj, f)
        return original(obj, f, *arguments, **keywords)

    torch.save = save
