"""What torch's compiler makes on CUDA that does not repeat itself, and that no kernel of torch's stands for.

Long scans: of a single row it makes blocks that take what is ready of their predecessors (decoupled
look-back; https://github.com/pytorch/pytorch/issues/190946). Left to the operation, they are torch's, which
repeats cumsum, and samerun's, which repeats the others (scans.py).

FlexAttention: the gradients of tensors that a score_mod captures are added atomically, inside its template.
There is no other way to compute them there, so that is said.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from samerun.ops._importing import once_imported

_IR = "torch._inductor.ir"
_FLEX = "torch._inductor.kernel.flex.common"


def without_races() -> Callable[[], None]:
    """Have the compiler, once it is imported, make no split scans, and tell of such gradients."""
    changes = ExitStack()
    for module, change in ((_IR, _whole_scans), (_FLEX, _told_gradients)):
        changes.callback(once_imported(module, functools.partial(_make, change, changes)))
    return changes.close


def _make(change: Callable[[], Callable[[], None]], changes: ExitStack) -> None:
    changes.callback(change())


class _Split(Exception):
    """A scan would be split."""


def _whole_scans() -> Callable[[], None]:
    """Leave what would be a split scan to the operation; where it cannot be, make it one block's."""
    Scan: Any = sys.modules[_IR].Scan
    create, num_splits = Scan.create.__func__, Scan.num_splits.__func__

    def whole(cls: Any, *args: Any, **kwargs: Any) -> Any:
        hint, splits = num_splits(cls, *args, **kwargs)
        if splits > 1:
            raise _Split
        return hint, splits

    def in_one(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return num_splits(cls, *args, **kwargs)[0], 1

    def created(cls: Any, device: Any, dtypes: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return create(cls, device, dtypes, *args, **kwargs)
        except _Split:
            if kwargs.get("can_fallback_to_aten", True):
                return [None] * len(dtypes)
        Scan.num_splits = classmethod(in_one)
        try:
            return create(cls, device, dtypes, *args, **kwargs)
        finally:
            Scan.num_splits = classmethod(whole)

    Scan.create, Scan.num_splits = classmethod(created), classmethod(whole)

    def undo() -> None:
        Scan.create, Scan.num_splits = classmethod(create), classmethod(num_splits)

    return undo


def _told_gradients() -> Callable[[], None]:
    """Warn when a template adds the gradients of captured tensors."""
    module: Any = sys.modules[_FLEX]
    lowering = getattr(module, "zeros_and_scatter_lowering", None)
    if lowering is None:
        return lambda: None

    def told(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            "FlexAttention adds the gradients of tensors that its score_mod captures atomically, so that "
            "they differ from run to run: call flex_attention without torch.compile, or write the attention "
            "out",
            stacklevel=2,
        )
        return lowering(*args, **kwargs)

    module.zeros_and_scatter_lowering = told

    def undo() -> None:
        module.zeros_and_scatter_lowering = lowering

    return undo
