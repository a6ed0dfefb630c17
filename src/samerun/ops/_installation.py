"""Puts the implementations in the place of torch's own, and takes them out again without a trace."""

from __future__ import annotations

import functools
import hashlib
import threading
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import torch

from samerun.errors import UsageError
from samerun.ops import _native
from samerun.ops._alerts import silenced
from samerun.ops._redirects import direct
from samerun.ops._variants import variants
from samerun.ops.catalogue import implementations
from samerun.ops.implementation import Implementation, Kernel

_lock = threading.RLock()
_depth = 0
_installation = ExitStack()


def install() -> None:
    """Have torch compute each operation that it cannot repeat by samerun's implementation of it.

    For every thread of this process, until `uninstall` was called as often as this. Call it before
    torch.compile compiles: what is compiled already keeps what it had inlined. Raises UsageError for a torch
    whose kernels cannot be replaced and put back.
    """
    global _depth, _installation
    with _lock:
        if _depth == 0:
            _installation = put_in(implementations().values())
        _depth += 1


def uninstall() -> None:
    """Put torch's own operations back, once it was called as often as `install`.

    Raises UsageError when nothing is installed.
    """
    global _depth
    with _lock:
        if _depth == 0:
            raise UsageError("samerun's operations are not installed; call samerun.ops.install() first")
        _depth -= 1
        if _depth == 0:
            _installation.close()


class installed:  # spelled as a context manager reads
    """A context in which samerun's operations are installed; it nests."""

    def __enter__(self) -> None:
        install()

    def __exit__(self, *_: object) -> None:
        uninstall()


def is_installed() -> bool:
    """Whether torch's operations are replaced in this process, now."""
    return _depth > 0


def reasons() -> dict[str, str]:
    """Which operations `install` replaces with this torch, and why each."""
    if not available():
        return {}
    return {one.name: one.why for one in implementations().values() if any(map(built_for, one.devices))}


def available() -> bool:
    """Whether this torch gives back what is replaced (torch.library.get_kernel)."""
    return hasattr(torch.library, "get_kernel")


def built_for(key: str) -> bool:
    """Whether this torch can compute on the devices of a dispatch key."""
    return key == "CPU" or (key == "CUDA" and bool(torch._C._has_cuda))


def put_in(
    wanted: Iterable[Implementation], keys: Callable[[Implementation], Iterable[str]] | None = None
) -> ExitStack:
    """Replace the wanted operations at their dispatch keys; closing what is returned puts all back."""
    if not available():
        raise UsageError(
            f"torch {torch.__version__} has no torch.library.get_kernel, by which its own kernels are kept; "
            "use a newer torch"
        )
    chosen = [(one, tuple(keys(one) if keys else filter(built_for, one.devices))) for one in wanted]
    present = [one for one, there in chosen if there]
    Library: Any = torch.library.Library
    with ExitStack() as stack:
        libraries: dict[str, Any] = {}
        for one, there in chosen:
            if one.namespace not in libraries:
                libraries[one.namespace] = library = Library(one.namespace, "IMPL")
                stack.callback(library._destroy)
            for key in there:
                _register(libraries[one.namespace], one, key)
        stack.callback(_tag_caches(present))
        stack.callback(silenced(frozenset(alert for one in present for alert in one.alerts)))
        stack.callback(direct(frozenset(one.name for one in present if "CPU" not in one.devices)))
        return stack.pop_all()


def _register(library: Any, one: Implementation, key: str) -> None:
    for overload, kernel in one.kernels.items():
        for name, variant in variants(one.namespace, overload, kernel):
            _native.remember(f"{one.namespace}::{name}", key)
            with warnings.catch_warnings():
                # It is meant: torch warns of the first kernel in a process that replaces one of its own.
                warnings.simplefilter("ignore", UserWarning)
                library.impl(name, _below_autograd(variant), key)


def _below_autograd(kernel: Kernel) -> Kernel:
    """The kernel, whose operations leave no trace for autograd: the formula is that of what it replaces."""

    @functools.wraps(kernel)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return kernel(*args, **kwargs)

    return replaced


def _tag_caches(present: list[Implementation]) -> Callable[[], None]:
    """Keep what is compiled with these operations apart from what is compiled without; return the undo."""
    import torch.compiler.config as config

    settings: Any = config
    if not hasattr(settings, "cache_key_tag"):
        return lambda: None
    before = settings.cache_key_tag
    names = hashlib.sha256(",".join(one.name for one in present).encode()).hexdigest()[:16]
    settings.cache_key_tag = f"{before}samerun-ops-{names}"

    def undo() -> None:
        settings.cache_key_tag = before

    return undo
