"""Root modules: what went in and came out of every module that no other module called.

Also the names of things: the dotted path of the module that is running, and the names of parameters and
buffers as their root modules know them.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from samerun.recording.recorder import Recorder
from samerun.recording.tensors import tensors_of

_ROOTS_A_STEP = 32  # a script that calls its layers one by one must not pay for hashing every activation


class _Stack(threading.local):
    def __init__(self) -> None:
        self.modules: list[nn.Module] = []
        self.phase = ""  # what the root's call interrupted


class Modules:
    """Follows the calls of modules, and knows names."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.roots: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()
        self._paths: weakref.WeakKeyDictionary[nn.Module, str] = weakref.WeakKeyDictionary()
        self._buffers: list[tuple[weakref.ref[nn.Module], str, str]] = []
        self._stack = _Stack()
        self._step = -1
        self._calls = 0
        self._named: dict[str, tuple[str, ...]] = {}

    # --- names -------------------------------------------------------------------------------------

    def path(self) -> str | None:
        """The dotted path of the module whose forward is running in this thread."""
        modules = self._stack.modules
        return self._paths.get(modules[-1]) if modules else None

    def parameter_names(self) -> dict[int, str]:
        """Names of the parameters of every root module seen, by the id of the tensor."""
        names: dict[int, str] = {}
        several = sum(1 for root in self.roots if next(root.parameters(), None) is not None) > 1
        for root, label in list(self.roots.items()):
            for name, parameter in root.named_parameters():
                names.setdefault(id(parameter), f"{label}.{name}" if several else name)
        return names

    def buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The buffers of every root module seen, as they are now."""
        for reference, key, name in self._buffers:
            module = reference()
            if module is not None and (buffer := module._buffers.get(key)) is not None:
                yield name, buffer

    def names(self, group: str, names: list[str]) -> None:
        """Write the names of a group's parts, when they are not those written last."""
        if self._named.get(group) != (now := tuple(names)):
            self._named[group] = now
            self.recorder.row("names", group, detail=json.dumps(names))

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Parameters, their gradients and buffers, by name."""
        names = self.parameter_names()
        for root in list(self.roots):
            for parameter in root.parameters():
                name = names[id(parameter)]
                yield name, parameter
                if parameter.grad is not None:
                    yield f"{name}.grad", parameter.grad
        yield from self.buffers()

    def group(
        self, what: str, label: str, named: list[tuple[str, torch.Tensor]], stepped: str | None = None
    ) -> None:
        """Write one record of a group of tensors, each part by its name."""
        if not named:
            return
        self.names(f"{what}:{label}", [name for name, _ in named])
        self.recorder.watched(what, (tensor for _, tensor in named), stepped)
        digest = self.recorder.tensors.digest
        self.recorder.row(what, label, parts=[digest(tensor) for _, tensor in named], keep_parts=True)

    # --- calls -------------------------------------------------------------------------------------

    def _meet(self, root: nn.Module) -> None:
        """A root module called for the first time: learn its names, write its parameters as they are."""
        kind = type(root).__name__
        taken = set(self.roots.values())
        label = (
            kind
            if kind not in taken
            else next(k for n in range(1, 10**6) if (k := f"{kind}#{n}") not in taken)
        )
        self.roots[root] = label
        for name, module in root.named_modules():
            self._paths.setdefault(module, f"{label}.{name}" if name else label)
            known = {(id(reference()), key) for reference, key, _ in self._buffers}
            self._buffers += [
                (weakref.ref(module), key, f"{label}.{name}.{key}" if name else f"{label}.{key}")
                for key in module._buffers
                if (id(module), key) not in known
            ]
        recorder = self.recorder
        phase, recorder.phase = recorder.phase, "setup"
        try:
            self.group("parameters", label, [(name, p.detach()) for name, p in root.named_parameters()])
            self.group("buffers", label, list(root.named_buffers()))
        finally:
            recorder.phase = phase

    def _enter(self, module: nn.Module, arguments: tuple[Any, ...]) -> None:
        stack = self._stack
        if not stack.modules:
            recorder = self.recorder
            if module not in self.roots:
                self._meet(module)
            recorder.begin()
            stack.phase = recorder.phase
            if recorder.phase == "forward" and not torch.is_grad_enabled():
                recorder.phase = "evaluation"
            recorder.local.inside = True
            if self._counts():
                self._input(self.roots[module], arguments)
        stack.modules.append(module)

    def _leave(self, module: nn.Module, arguments: Any, keywords: Any, result: Any) -> None:
        stack = self._stack
        while stack.modules and stack.modules.pop() is not module:
            pass  # a call that ended in an exception left its module here
        if stack.modules or module not in self.roots:
            return
        recorder = self.recorder
        if self._counts(leaving=True):
            if keywords:
                self._input(f"{self.roots[module]}(…)", keywords)
            recorder.watched("output", tensors_of(result))
            recorder.row("output", self.roots[module], parts=recorder.tensors.parts(result))
        recorder.local.inside = False
        recorder.phase = stack.phase

    def _input(self, label: str, value: Any) -> None:
        """What goes into a model is data, whoever made it; of an evaluation, it is part of that."""
        recorder = self.recorder
        phase = "data" if recorder.phase == "forward" else None
        recorder.watched("input", tensors_of(value))
        recorder.row("input", label, parts=recorder.tensors.parts(value), phase=phase)

    def _counts(self, leaving: bool = False) -> bool:
        """Whether this root call is recorded: all of them in evaluation, the first few of a step else."""
        if self.recorder.step != self._step:
            self._step, self._calls = self.recorder.step, 0
        if self.recorder.where()[1] == "evaluation":
            return True
        self._calls += not leaving
        return self._calls <= _ROOTS_A_STEP


def observe(recorder: Recorder) -> Modules:
    """Hook every module's call; returns what knows their names."""
    modules = Modules(recorder)
    recorder.named.append(modules.tensors)
    enter, leave = recorder.guard(modules._enter), recorder.guard(modules._leave)

    def before(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        # Under torch.compile this is traced: the branch is decided there, and leaves nothing in the graph.
        if not torch.compiler.is_compiling():
            enter(module, arguments)

    def after(module: nn.Module, arguments: Any, keywords: Any, result: Any) -> None:
        if not torch.compiler.is_compiling():
            leave(module, arguments, keywords, result)

    register_module_forward_pre_hook(before)
    register_module_forward_hook(after, with_kwargs=True, always_call=True)
    return modules
