"""What is known of an operation of torch, by its schema and its name: what it writes to, puts out, draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

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
# What operations of torch write to though their schema does not say so: of 2274 samples of torch's own tests
# of operations and modules, on the CPU, these two did (torch 2.13).
_STATISTICS = frozenset({"running_mean", "running_var"})
_WORKSPACE = "mkldnn_rnn_layer_backward"
# Results that are only for the backward pass, and not written in all their parts. Found on the CPU by filling
# new memory with two patterns under torch's own tests of operations and modules; the others by their names.
_WORKSPACES = {
    "mkldnn_rnn_layer": 3,
    "_ctc_loss": 1,
    "_cudnn_rnn": 3,
    "miopen_rnn": 3,
    "cudnn_batch_norm": 3,
}
# An operation in place computes with what its tensor held before, as `x.mul_(2)` does, but for these: they
# overwrite it, write a part of it, or say how it is looked at.
_NOT_COMPUTING = frozenset(
    """copy_ copy_sparse_to_sparse_ fill_ zero_ _foreach_copy_ _foreach_zero_ bernoulli_ cauchy_
    exponential_ geometric_ log_normal_ normal_ random_ uniform_ _philox_normal_ _philox_uniform_
    _fill_mem_eff_dropout_mask_ fill_diagonal_ index_copy_ index_fill_ index_put_ _index_put_impl_
    masked_fill_ masked_scatter_ put_ scatter_ set_ resize_ resize_as_ _resize_output_
    resize_as_sparse_ sparse_resize_ sparse_resize_and_clear_ as_strided_ detach_ requires_grad_
    squeeze_ unsqueeze_ swapaxes_ swapdims_ t_ transpose_ _mkldnn_transpose_ _coalesced_
    """.split()  # noqa: SIM905 - words, as they are read
)
_MOVES = frozenset({"set_", "resize_", "resize_as_"})
_COPIES = ("aten._to_copy.", "aten.copy_.")  # those that can return before the host has the copy
_SENDING = ("send", "allreduce", "reduce_", "barrier", "monitored_barrier")  # the others write to the first
_COLLECTIVE = ("c10d", "_c10d_functional", "_c10d_functional_autograd")
TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})


@dataclass(frozen=True, slots=True)
class Operation:
    """What is known of an operation from its schema."""

    name: str
    call: Callable[..., Any]
    silent: bool = False  # not recorded: it puts out nothing new
    written: tuple[int, ...] = ()  # positions of the arguments that it writes to
    written_names: tuple[str, ...] = ()  # the same, when given by keyword
    computes: bool = False  # what it writes depends on what those held before
    outs: frozenset[str] = frozenset()  # the arguments that it overwrites whatever they held
    new: tuple[int, ...] = ()  # which of its results, besides the arguments that it writes to, are new
    unsaid: tuple[int, ...] = ()  # positions of the arguments that it writes to without saying so
    moves: bool = False  # it says which memory its tensor is, or how much, and writes nothing there
    trusted: bool = False  # its schema names everything else that it writes to
    workspace: int | None = None  # which of its results is not compared, since not all of it is written
    draws: bool = False
    copies: bool = False  # it can return before the host has the copy
    unwritten: bool = False  # its output is not initialised
    pending: bool = False  # it returns before its result is there: another thread carries out a collective
    receives: bool = False  # what it is given first is where its result will be
    phase: str | None = None

    def writes_to(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """Which of its arguments it writes to."""
        if self.written == (0,) and args and type(args[0]) in TENSORS:
            return [args[0]]
        found: list[torch.Tensor] = []
        for position, name in zip(self.written, self.written_names, strict=True):
            value = args[position] if position < len(args) else kwargs.get(name)
            found += list_tensors(value)
        return found


def learn(func: Any) -> Operation:
    """Read an operation's schema; one without (a higher-order operator) is judged by its outputs."""
    schema_ = getattr(func, "_schema", None)
    if schema_ is None:
        return Operation(str(func), func)
    name = str(func)
    namespace, _, rest = name.partition(".")
    written = [
        (position, argument.name)
        for position, argument in enumerate(schema_.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return Operation(
        name=name,
        call=func._op if type(func) is torch._ops.OpOverload else func,  # what it calls, and nothing else
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
        computes=namespace == "aten" and _computes(rest.split(".")[0]),
        new=tuple(number for number, returned in enumerate(schema_.returns) if returned.alias_info is None),
        unsaid=tuple(
            position
            for position, argument in enumerate(schema_.arguments)
            if argument.name in _STATISTICS and argument.alias_info is None and "backward" not in rest
        ),
        moves=namespace == "aten" and rest.split(".")[0] in _MOVES,
        trusted=namespace in ("aten", "prims") and not rest.startswith(_WORKSPACE),
        workspace=_WORKSPACES.get(rest.split(".")[0]) if namespace == "aten" else None,
        copies=name.startswith(_COPIES),
        draws=torch.Tag.nondeterministic_seeded in func.tags,
        unwritten=namespace == "aten" and rest.split(".")[0] in _UNWRITTEN,
        pending=namespace in _COLLECTIVE and not rest.startswith("wait_tensor"),
        receives=namespace == "c10d" and not rest.startswith(_SENDING),
        phase="collective" if namespace in _COLLECTIVE else None,
    )


def _computes(name: str) -> bool:
    in_place = name.endswith("_") and name not in _NOT_COMPUTING
    return in_place or name.startswith("_fused_")


def make_came(func: Any) -> Callable[[Sequence[Any], dict[str, Any], Any], list[Any]]:
    """What an operation put out, of (arguments, keywords, result): tensors and numbers."""
    operation = learn(func)

    def came(args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> list[Any]:
        results = list_tensors(result)
        found: list[Any] = [t for number, t in enumerate(results) if number != operation.workspace]
        found += operation.writes_to(tuple(args), kwargs)
        return found if found else [result]

    return came


def own_generator(kwargs: dict[str, Any]) -> torch.Generator | None:
    """The generator that an operation is given, unless it is the one it would draw from anyway.

    `torch.utils.data.random_split` and its like give that one, too.
    """
    given: Any = kwargs.get("generator")  # Any: torch does not type the name of a generator
    if given is None:
        return None
    kind = given.device.type
    defaults: Any = getattr(getattr(torch, kind, None), "default_generators", ())
    if kind == "cpu":
        defaults = [torch.default_generator]
    return None if any(given._cdata == one._cdata for one in defaults) else given


def list_tensors(value: Any) -> list[torch.Tensor]:
    """A tensor, or those in lists and tuples, as operations take and give them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in list_tensors(item)]
    return []
