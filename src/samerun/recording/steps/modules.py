"""Root modules: what went in and came out of every module that no other module called.

Also the names of things: the dotted path of the module that is running, and the names of parameters and
buffers as their root modules know them.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from samerun.recording import dynamo_skip
from samerun.recording.by_identity import ByIdentity
from samerun.recording.recorder import SEVERAL, Recorder
from samerun.recording.steps.module_state import get_buffers, is_loss, is_training, list_named, read_versions
from samerun.recording.steps.operation_counters import is_counter
from samerun.recording.trace.pending_record import PendingRecord
from samerun.recording.trace.tensor_digests import describe_shape, walk_tensors
from samerun.runs.schema import A_LOSS
from samerun.wrapping import dress, hide_frames, replace

_ROOTS_A_STEP = 32  # a script that calls its layers one by one must not pay for hashing every activation


class _CallStack(threading.local):
    """The modules whose forward is running in this thread."""

    def __init__(self) -> None:
        self.root: nn.Module | None = None
        self.paths: list[str | None] = []  # of the root and those inside it; only where they are asked for
        self.phase = ""  # what the root's call interrupted


class Modules:
    """Follows the calls of modules, and knows names."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.roots: ByIdentity[nn.Module, str] = ByIdentity()
        # Whether only threads beside the training call it, to evaluate a copy: when they do is chance.
        self._beside: ByIdentity[nn.Module, bool] = ByIdentity()
        self._held: ByIdentity[nn.Module, list[tuple[int, int]]] = ByIdentity()  # as its state was written
        self._is_called_with_batches: ByIdentity[nn.Module, bool] = ByIdentity()
        self._paths: ByIdentity[nn.Module, str] = ByIdentity()
        self._buffered: ByIdentity[nn.Module, set[str]] = ByIdentity()  # names of those in `_buffers`
        self._buffers: list[tuple[weakref.ref[nn.Module], str, str]] = []
        self.running = _CallStack()
        self._renew_lock()
        os.register_at_fork(after_in_child=self._renew_lock)
        self._step = -1
        self._calls = 0
        self._is_fed = False  # a DataLoader gave a batch
        recorder.after_batch.append(self._feed)
        self._named: dict[str, list[str]] = {}

    def _renew_lock(self) -> None:
        """Held while a root is met or written again; another thread may have held it at a fork."""
        self._meeting = threading.RLock()

    # --- names -------------------------------------------------------------------------------------

    def path(self) -> str | None:
        """The dotted path of the module whose forward is running in this thread."""
        paths = self.running.paths
        return paths[-1] if paths else None

    def path_of(self, module: nn.Module) -> str | None:
        """The dotted path of a module of a root that was called."""
        return self._paths.get(module)

    def parameter_names(self) -> dict[int, str]:
        """Names of the parameters of every root module seen, by the id of the tensor."""
        names: dict[int, str] = {}
        roots = [(label, list_named(root, "named_parameters")) for root, label in list(self.roots.items())]
        several = sum(1 for _, named in roots if named) > 1
        for label, named in roots:
            for name, parameter in named:
                names.setdefault(id(parameter), f"{label}.{name}" if several else name)
        return names

    def parameters(self) -> list[tuple[str, torch.Tensor]]:
        """The parameters of every root module of the training that are trained, by name, each once."""
        names = self.parameter_names()
        found: dict[int, tuple[str, torch.Tensor]] = {}
        for root in self.roots:
            trained = [each for _, each in list_named(root, "named_parameters") if each.requires_grad]
            if self._beside[root] or self._is_replaced(root, trained):
                continue
            for parameter in trained:
                found.setdefault(id(parameter), (names[id(parameter)], parameter))
        return list(found.values())

    def _is_replaced(self, root: nn.Module, parameters: Iterable[torch.Tensor]) -> bool:
        """Whether it was called before the first batch alone: a model that a restored one has replaced."""
        called = not self._is_fed or self._is_called_with_batches.get(root)
        return not called and all(parameter.grad is None for parameter in parameters)

    def buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The buffers of every root module seen, as they are now."""
        for reference, key, name in self._buffers:
            module = reference()
            if module is None or key not in (known := get_buffers(module)):
                continue
            if (buffer := known[key]) is not None:
                yield name, buffer

    def names(self, group: str, names: list[str]) -> None:
        """Write the names of a group's parts, when they are not those written last."""
        known = self._named.get(group)
        if known is not names and known != names:
            self._named[group] = names
            self.recorder.sink.write(PendingRecord("names", group, detail=json.dumps(names)))

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Parameters, their gradients where no other thread trains, and buffers, by name."""
        names, recorder, own = self.parameter_names(), self.recorder, threading.get_ident()
        for root in list(self.roots):
            for _, parameter in list_named(root, "named_parameters"):
                name = names.get(id(parameter))
                if name is None:  # another thread has just added it
                    continue
                yield name, parameter
                # No call between these two: another thread's backward pass frees gradients at any moment.
                trainer = recorder.trainer
                gradient = parameter.grad if trainer is None or trainer == own else None
                if gradient is not None:
                    yield f"{name}.grad", gradient
        yield from self.buffers()

    def group(
        self,
        what: str,
        label: str,
        named: list[tuple[str, torch.Tensor]],
        stepped: str | None = None,
        phase: str | None = None,
    ) -> None:
        """Write one record of a group of tensors, each part by its name."""
        if named:
            names, tensors = [name for name, _ in named], [tensor for _, tensor in named]
            self.group_of(what, label, names, tensors, stepped, phase=phase)

    def group_of(
        self,
        what: str,
        label: str,
        names: list[str],
        tensors: Sequence[torch.Tensor | None],
        stepped: str | None = None,
        *,
        digests: bytes | None = None,
        rest: bytes | None = None,
        phase: str | None = None,
    ) -> None:
        """The same of names and tensors; `digests`: theirs, where they are known.

        `rest`: the digest of one more part, which is no tensor. `phase`: where another thread that trains
        may be in another one just now.
        """
        group = f"{what}:{label}"
        self.names(group, names)
        self.recorder.watched(what, tensors, stepped)
        sink = self.recorder.sink
        parts = sink.tensors.group(group, tensors) if digests is None else digests
        if rest is not None:
            parts = parts + rest if isinstance(parts, bytes) else [*parts, rest]
        sink.write(PendingRecord(what, label, phase=phase, parts=parts, keep_parts=True))

    # --- calls -------------------------------------------------------------------------------------

    def _meet(self, root: nn.Module, beside: bool) -> None:
        """A root module called for the first time: learn its names, write its parameters as they are.

        Threads may share a model: the others wait until the first has written it.
        """
        with self._meeting:
            if root not in self.roots:
                self._learn(root, beside)

    def _learn(self, root: nn.Module, beside: bool) -> None:
        kind = type(root).__name__
        taken = set(self.roots.values())
        label = (
            kind
            if kind not in taken
            else next(k for n in range(1, 10**6) if (k := f"{kind}#{n}") not in taken)
        )
        self._beside[root] = beside  # first: the training's thread may go through the roots just now
        self._held[root] = []
        self.roots[root] = label
        for name, module in list_named(root, "named_modules"):
            if module not in self._paths:
                self._paths[module] = f"{label}.{name}" if name else label
        if not beside:
            self._list_buffers(root)
        self._write_held(root, label, with_shapes=True)

    def _write_held(self, root: nn.Module, label: str, *, with_shapes: bool) -> None:
        """Its parameters and buffers, as the setup left them."""
        cursor = self.recorder.cursor
        phase, cursor.phase = cursor.phase, "setup"
        try:
            for what in ("parameters", "buffers"):
                named = list_named(root, f"named_{what}")
                self.group(what, label, named, phase="setup")
                if named and with_shapes:
                    shapes = json.dumps([describe_shape(tensor) for _, tensor in named])
                    self.recorder.sink.write(PendingRecord("shapes", f"{what}:{label}", detail=shapes))
        finally:
            cursor.phase = phase
        self._held[root] = read_versions(root)

    def _see_restored(self, root: nn.Module) -> None:
        """Write them again where they were written to since: it was called before they were restored."""
        with self._meeting:
            if self._held[root] != read_versions(root):
                self._write_held(root, self.roots[root], with_shapes=not self._held[root])
                for act in self.recorder.after_setup:
                    act()

    def _list_buffers(self, root: nn.Module) -> None:
        label = self.roots[root]
        for name, module in list_named(root, "named_modules"):
            known = self._buffered.get(module)
            if known is None:
                known = self._buffered[module] = set()
            for key in get_buffers(module).keys():  # noqa: SIM118  # a scripted module's are no dict
                if key not in known:
                    known.add(key)
                    path = f"{label}.{name}.{key}" if name else f"{label}.{key}"
                    self._buffers.append((weakref.ref(module), key, path))

    def enter(self, root: nn.Module, arguments: tuple[Any, ...]) -> None:
        """A root module is called."""
        recorder, cursor = self.recorder, self.recorder.cursor
        other = recorder.trainer not in (None, SEVERAL, threading.get_ident())
        beside = other and not torch.is_grad_enabled()  # else this thread may train as well
        if root not in self.roots:
            self._meet(root, beside)
        elif not beside and self._beside[root]:  # the training calls what was met beside it
            self._beside[root] = False
            self._list_buffers(root)
        elif not beside and cursor.step == 0 and torch.is_grad_enabled():
            self._see_restored(root)
        if self._is_fed and root not in self._is_called_with_batches:
            self._is_called_with_batches[root] = True
        recorder.begin()
        self.running.phase = cursor.phase
        if cursor.phase == "forward":
            if torch.is_grad_enabled():
                recorder.rngs.model_called()
                if is_training(root):  # else it may be an evaluation that forgot no_grad
                    cursor.began = True
                    recorder.stop_if_due()
            elif not cursor.began:
                cursor.phase = "evaluation"
        cursor.local.inside = True
        if self._counts():
            self._input(self.roots[root], arguments)

    def leave(self, root: nn.Module, keywords: dict[str, Any], result: Any) -> None:
        """It has returned."""
        recorder, sink = self.recorder, self.recorder.sink
        if self._counts(leaving=True):
            if keywords:
                self._input(f"{self.roots[root]}(…)", keywords)
            recorder.watched("output", walk_tensors(result))
            detail = A_LOSS if is_loss(root, result) else None
            parts = sink.tensors.parts(result)
            sink.write(PendingRecord("output", self.roots[root], parts=parts, detail=detail))
        self.left()

    def left(self) -> None:
        """It has returned, or raised."""
        self.recorder.cursor.local.inside = False
        self.recorder.cursor.phase = self.running.phase

    def _input(self, label: str, value: Any) -> None:
        """What goes into a model is data, whoever made it; of an evaluation, it is part of that."""
        recorder, sink = self.recorder, self.recorder.sink
        phase = "data" if recorder.cursor.phase == "forward" else None
        recorder.watched("input", walk_tensors(value))
        sink.write(PendingRecord("input", label, phase=phase, parts=sink.tensors.parts(value)))

    def _feed(self) -> None:
        """What a model was called for before the first batch is not of the step that this begins."""
        if not self._is_fed:
            self._is_fed, self._calls = True, 0

    def _counts(self, leaving: bool = False) -> bool:
        """Whether this root call is recorded: all without gradients, the first few of a step else."""
        cursor = self.recorder.cursor
        if cursor.step != self._step:
            self._step, self._calls = cursor.step, 0
        _, phase = cursor.where()
        if phase == "evaluation" or not torch.is_grad_enabled():
            return True
        self._calls += not leaving
        return self._calls <= _ROOTS_A_STEP


def observe(recorder: Recorder) -> Modules:
    """Follow every module's call; returns what knows their names."""
    modules = Modules(recorder)
    recorder.named.append(modules.tensors)
    _wrap_call(modules, with_paths=recorder.plan.tier == "ops")
    return modules


def _wrap_call(modules: Modules, with_paths: bool) -> None:
    """Take the place of `nn.Module.__call__`.

    With torch's hooks for all modules, every layer takes the long way through a call, in both tiers.
    """
    original: Callable[..., Any] = nn.Module.__call__
    inside = _keep_path(modules, original) if with_paths else original
    call_aside = _keep_out(modules, original)
    running = modules.running
    is_compiling = torch.compiler.is_dynamo_compiling

    def __call__(*arguments: Any, **keywords: Any) -> Any:
        if is_compiling():  # traced: decided there and then, and leaves nothing in the graph
            return original(*arguments, **keywords)
        if running.root is not None:
            return inside(*arguments, **keywords)
        if not arguments or not isinstance(arguments[0], nn.Module):
            return original(*arguments, **keywords)
        return call_root(arguments[0], arguments[1:], keywords)

    def call_root(root: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:  # export, torch.jit
            return original(root, *arguments, **keywords)
        if is_counter(sys._getframe(1).f_back):  # None where a thread begins with the call
            return call_aside(root, *arguments, **keywords)
        running.root = root
        try:
            enter(root, arguments)
            result = inside(root, *arguments, **keywords)
        except BaseException:
            left()
            raise
        finally:
            running.root = None
        leave(root, keywords, result)
        return result

    hide_frames(call_root)
    hide_frames(call_aside)
    hide_frames(inside)
    replace(nn.Module, "__call__", dress(__call__, original))
    # torch.compile, when it is imported, takes it for torch's own. That takes a second, and many processes
    # (workers, launchers, evaluations, steps without an optimizer of torch's) never do.
    guard = modules.recorder.guard
    enter, leave, left = (
        dynamo_skip.keep_out(guard(hook)) for hook in (modules.enter, modules.leave, modules.left)
    )
    own: set[Any] = {__call__, call_root, call_aside, inside}
    for function in own - {original}:
        dynamo_skip.skip(function.__code__)


def _keep_out(modules: Modules, original: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, of which nothing is recorded."""

    def call_aside(*arguments: Any, **keywords: Any) -> Any:
        local = modules.recorder.cursor.local
        before, local.paused = local.paused, True
        try:
            return original(*arguments, **keywords)
        finally:
            local.paused = before

    return call_aside


def _keep_path(modules: Modules, original: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, of which `Modules.path` knows."""
    running, path_of = modules.running, modules.path_of

    def call(*arguments: Any, **keywords: Any) -> Any:
        paths = running.paths
        known = arguments and isinstance(arguments[0], nn.Module)
        paths.append(path_of(arguments[0]) if known else None)
        try:
            return original(*arguments, **keywords)
        finally:
            paths.pop()

    return call
