"""Results of pools and tasks, and rows of frames, in the order in which they happen to be ready.

https://docs.python.org/3/library/concurrent.futures.html#concurrent.futures.as_completed
https://docs.python.org/3/library/asyncio-task.html#asyncio.as_completed
https://docs.python.org/3/library/multiprocessing.html#multiprocessing.pool.Pool.imap_unordered
https://docs.python.org/3/library/multiprocessing.html#multiprocessing.connection.wait
https://joblib.readthedocs.io/en/stable/generated/joblib.Parallel.html
https://docs.python.org/3/library/selectors.html#selectors.BaseSelector.select
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.recv
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.Store.add
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sized
from types import CodeType
from typing import Any

from samerun import callsite, wrapping
from samerun.sources.patching import kept_order, row_order
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

MODULES = {  # and what they have for it
    "concurrent.futures": "as_completed",
    "asyncio": "as_completed",
    "multiprocessing.pool": "Pool",
    "multiprocessing.connection": "wait",
    "joblib": "Parallel",
    "selectors": "DefaultSelector",
    "torch.distributed": "recv",
    row_order.MODULE: "LazyFrame",
}
LOADER = "DataLoader(in_order=False)"
UNORDERED = "generator_unordered"  # what joblib's Parallel returns its results as
ORDERED = row_order.NAMES | {"as_completed", "imap_unordered", LOADER}  # what a control takes hold of
GIVEN_UP = " out of order"  # after the name of one of them that is not kept for as long as it takes
_KEPT = {
    "concurrent.futures": kept_order.keep_futures,
    "asyncio": kept_order.keep_tasks,
    "multiprocessing.pool": kept_order.keep_pools,
}
_RECEIVE = ("recv", "irecv")
COUNTED = ("Store.add", "Store.compare_set")  # what they give depends on which process asks first
_CALLBACKS = ("apply_async", "map_async", "starmap_async")


def note_uses(module: str, journal: Journal) -> Undo:
    """Note each use by the user's code of what this module has, in an "arrival" row: one for each line."""
    seen: set[tuple[CodeType, int]] = set()

    def note(name: str, asks: Callable[[tuple[Any, ...], dict[str, Any]], bool]) -> Around:
        def noted(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            caller = callsite.find_caller(2)
            if caller is not None and (caller.f_code, caller.f_lineno) not in seen and asks(args, kwargs):
                seen.add((caller.f_code, caller.f_lineno))
                journal.note("arrival", name, user_only=True)
            return original(*args, **kwargs)

        return noted

    if module == row_order.MODULE:
        return row_order.wrap_methods(lambda name: note(name, row_order.loses_order))
    owner: Any = sys.modules[module]
    if module == "multiprocessing.pool":
        uses = [("imap_unordered", _always), *((name, _has_callback) for name in _CALLBACKS)]
        return wrapping.undo_all(
            [wrapping.wrap_attribute(owner.Pool, name, note(name, asks)) for name, asks in uses]
        )
    if module == "joblib":
        return wrapping.wrap_attribute(owner.Parallel, "__call__", note(UNORDERED, _is_unordered))
    if module == "multiprocessing.connection":
        return wrapping.wrap_attribute(owner, "wait", note("connection.wait", _has_several))
    if module == "selectors":
        return wrapping.wrap_attribute(owner.DefaultSelector, "select", note("selector.select", _selects))
    if module == "torch.distributed":
        # also where they are defined: P2POp asks whether it is given that very function
        defined = [sys.modules[owner.recv.__module__]]
        received = [
            wrapping.wrap_attribute(owner, name, note(name, _takes_from_any), defined) for name in _RECEIVE
        ]
        counted = [
            wrapping.wrap_attribute(owner.Store, name.rpartition(".")[2], note(name, _by_the_user))
            for name in COUNTED
        ]
        return wrapping.undo_all([*received, *counted])
    return wrapping.undo_all(
        [
            # also where it is defined: it is pickled by its name there
            wrapping.wrap_attribute(
                owner,
                "as_completed",
                note("as_completed", _always),
                [sys.modules[owner.as_completed.__module__]],
            ),
            wrapping.wrap_attribute(owner, "wait", note(f"{module}.wait", _returns_early)),
        ]
    )


def keep_order(module: str, gave_up: Callable[[str], None]) -> Undo:
    """Hand results over as they were asked for, by what `ORDERED` names, or call `gave_up` with its name."""
    if module == row_order.MODULE:
        return row_order.keep_rows()
    keep = _KEPT.get(module)
    return (lambda: None) if keep is None else keep(sys.modules[module], gave_up)


def _always(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return True


def _by_the_user(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """torch counts by a store of its own where ranks wait for each other."""
    return callsite.is_called_directly()


def _has_callback(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return (kwargs.get("callback") or (args[4] if len(args) > 4 else None)) is not None


def _is_unordered(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return getattr(wrapping.SELF.of(args, kwargs, None), "return_ordered", True) is False


def _has_several(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    waited = wrapping.Parameter("object_list", 0).of(args, kwargs, ())
    return isinstance(waited, Sized) and len(waited) > 1


def _selects(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a line of the user's asks which of several connections is ready; asyncio always does."""
    selector = wrapping.SELF.of(args, kwargs, None)
    known = isinstance(selector, sys.modules["selectors"].BaseSelector)
    return known and callsite.is_called_directly() and len(selector.get_map() or ()) > 1


def _takes_from_any(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `recv` names no rank to receive from: then it takes what comes first, from whomever.

    Not where torch itself calls it, `irecv` in `recv` for one.
    """
    named = wrapping.Parameter("src", 1).of(args, kwargs, None), kwargs.get("group_src")
    return named == (None, None) and callsite.is_called_directly()


def _returns_early(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `wait` of futures or tasks returns when some of them are ready, and not all."""
    return bool(wrapping.Parameter("return_when", 2).of(args, kwargs, "ALL_COMPLETED") != "ALL_COMPLETED")
