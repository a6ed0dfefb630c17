"""What torch's compiler makes on CUDA that does not repeat itself, and that no kernel of torch's stands for.

That is long scans: of a single row it makes blocks that take what is ready of their predecessors (decoupled
look-back; https://github.com/pytorch/pytorch/issues/190946). Left to the operation, they are torch's, which
repeats cumsum, and samerun's, which repeats the others (scans.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from samerun.import_hook import change_once_imported

_IR = "torch._inductor.ir"


def avoid_split_scans() -> Callable[[], None]:
    """Have the compiler make none, once it is imported; return what puts it back."""
    return change_once_imported(_IR, _keep_scans_whole)


class _Split(Exception):
    """A scan would be split."""


def _keep_scans_whole() -> Callable[[], None]:
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
