"""Trainings without an optimizer of torch's: there a backward pass that reaches parameters ends a step.

What the script then does to the weights is seen as the next step begins: by a batch, a call of a module, a
loss, or the end of the process. Nothing here happens in a process that has made an optimizer of torch's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from samerun.recording.recorder import SEVERAL, Recorder
from samerun.recording.steps.modules import Modules
from samerun.recording.steps.weight_samples import Values
from samerun.recording.trace.tensor_digests import walk_tensors

_LABEL = "backward"
_MOST_NODES = 100_000  # of a graph that are followed to its leaves

_Leaves = list[tuple[str, torch.Tensor]]


class Passes:
    """Follows backward passes, as long as nobody else makes the steps."""

    def __init__(self, recorder: Recorder, modules: Modules, values: Values | None) -> None:
        self._recorder = recorder
        self._modules = modules
        self._values = values
        self._leaves: _Leaves = []  # of the last pass
        self.count = True  # whether they are steps

    def leave_to_optimizers(self) -> None:
        """An optimizer of torch's makes the steps, from here on."""
        self.count = False
        self._leaves = []
        self._recorder.completes = None

    def passed(self, roots: Any, inputs: Any, result: Any, differentiable: bool) -> None:
        """A backward pass from these roots is over: one to all leaves, or to these inputs.

        `result`: the gradients, where it handed them out. One that is `differentiable` is part of a loss that
        is still to come.
        """
        recorder = self._recorder
        if not self.count or recorder.cursor.in_worker:
            return
        if differentiable and not _is_transformed(roots):
            return
        named = self._modules.parameters()
        gradients: Sequence[torch.Tensor | None]
        if inputs is None:
            # Another thread may free its gradients while they are read: then those of this pass alone are.
            known = recorder.trainer != SEVERAL and any(p.grad is not None for _, p in named)
            leaves = named if known else _number_tensors(_find_leaves(roots))
            gradients = [leaf.grad for _, leaf in leaves]
        else:
            given = list(walk_tensors(inputs))
            leaves = _name_inputs(given, named)
            gradients = list(walk_tensors(result)) if result is not None else [leaf.grad for leaf in given]
            if not leaves or len(gradients) != len(leaves):
                return
        if not leaves:
            return
        # Kept alive: whether they still are in a moment can depend on when garbage is collected.
        self._leaves = [(name, _unwrap(leaf)) for name, leaf in leaves]
        recorder.cursor.phase = "optimizer"
        self._modules.group_of("gradients", _LABEL, [name for name, _ in leaves], gradients)
        recorder.completes = self._complete

    def _complete(self) -> None:
        """The next step is about to begin: the weights as the script left them."""
        recorder = self._recorder
        recorder.cursor.phase = "optimizer"
        leaves, self._leaves = self._leaves, []
        self._modules.group("parameters", _LABEL, leaves, _LABEL)
        self._modules.group("buffers", "buffers", list(self._modules.buffers()), _LABEL)
        if self._values is not None:
            self._values.write(self, _LABEL, [leaf for _, leaf in leaves])
        recorder.end_step()


def _name_inputs(given: Sequence[torch.Tensor], named: _Leaves) -> _Leaves:
    """These inputs by their names; none of them, where they are not what is trained.

    That is what a model's own parameters are, where it has any: gradients of its input explain, or attack.
    """
    if any(map(_is_transformed, given)):
        return _number_tensors(given)
    names = {id(parameter): name for name, parameter in named}
    if named and not any(id(tensor) in names for tensor in given):
        return []
    if not any(tensor.is_leaf and tensor.requires_grad for tensor in given):
        return []
    return [(names.get(id(tensor), name), tensor) for name, tensor in _number_tensors(given)]


def _number_tensors(tensors: Iterable[torch.Tensor]) -> _Leaves:
    return [(f"parameter{number}", tensor) for number, tensor in enumerate(tensors)]


def _is_transformed(roots: Any) -> bool:
    """Whether torch.func takes these derivatives, as the outermost of what it does."""
    functorch = torch._C._functorch
    tensors = list(walk_tensors(roots))
    return bool(tensors) and all(
        functorch.is_gradtrackingtensor(tensor)
        and not functorch.is_functorch_wrapped_tensor(functorch.get_unwrapped(tensor))
        for tensor in tensors
    )


def _unwrap(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself, once torch.func no longer transforms it."""
    behind: torch.Tensor = torch._C._functorch.get_unwrapped(tensor) if _is_transformed(tensor) else tensor
    return behind


def _find_leaves(roots: Any) -> list[torch.Tensor]:
    """The tensors whose gradients a backward pass from these roots adds up, in an order that stays."""
    waiting: list[Any] = [tensor.grad_fn for tensor in walk_tensors(roots)]
    seen: set[Any] = {None}
    leaves = []
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if type(node).__name__ == "AccumulateGrad":
            leaves.append(node.variable)
        waiting += [following for following, _ in node.next_functions]
    return leaves
