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
from samerun.import_hook import call_once_imported
from samerun.ops.catalogue import implementations
from samerun.ops.implementation import Implementation, Kernel
from samerun.ops.torch_hooks import original_kernels
from samerun.ops.torch_hooks.decompositions import direct
from samerun.ops.torch_hooks.flex_attention import avoid_atomic_gradients
from samerun.ops.torch_hooks.inductor import avoid_split_scans
from samerun.ops.torch_hooks.out_variants import list_variants
from samerun.ops.torch_hooks.refusals_in_python import silence_refusals

_TORCHVISION = "torchvision.ops.roi_align"  # whoever imports it has loaded all operators

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


def install_silent() -> Callable[[], None]:
    """Replace those operations alone that torch computes in any order without a word; return the undo.

    For mode warn, in which torch tells of the others. Raises UsageError as `install` does.
    """
    with _lock:
        return put_in(one for one in implementations().values() if not one.alerts).close


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
    """Which operations `install` replaces with this torch and what else is imported, and why each."""
    if not available():
        return {}
    present = filter(is_loaded, implementations().values())
    return {one.name: one.why for one in present if any(map(is_built_for, one.devices))}


def available() -> bool:
    """Whether this torch gives back what is replaced (torch.library.get_kernel)."""
    return hasattr(torch.library, "get_kernel")


def is_built_for(key: str) -> bool:
    """Whether this torch can compute on the devices of a dispatch key."""
    return key == "CPU" or (key == "CUDA" and bool(torch._C._has_cuda))


def is_loaded(one: Implementation) -> bool:
    """Whether there is such an operation: torchvision's are there once it was imported."""
    return hasattr(getattr(torch.ops, one.namespace), one.name)


def put_in(
    wanted: Iterable[Implementation], keys: Callable[[Implementation], Iterable[str]] | None = None
) -> ExitStack:
    """Replace the wanted operations at their dispatch keys; closing what is returned puts all back.

    Those of torchvision are replaced as soon as it is imported.
    """
    if not available():
        raise UsageError(
            f"torch {torch.__version__} has no torch.library.get_kernel, by which its own kernels are kept; "
            "use a newer torch"
        )
    chosen = [(one, tuple(keys(one) if keys else filter(is_built_for, one.devices))) for one in wanted]
    present = [one for one, there in chosen if there]
    with ExitStack() as stack:
        registrations = _Registrations(chosen)
        stack.callback(registrations.undo)
        registrations.register()
        if not all(map(is_loaded, present)):
            stack.callback(call_once_imported(_TORCHVISION, registrations.register))
        if any("CUDA" in there for _, there in chosen):
            stack.callback(avoid_split_scans())
            stack.callback(avoid_atomic_gradients())
        stack.callback(_tag_caches(present))
        stack.callback(silence_refusals(frozenset(alert for one in present for alert in one.alerts)))
        stack.callback(direct(frozenset(one.name for one in present if "CPU" not in one.devices)))
        return stack.pop_all()


class _Registrations:
    """The kernels of implementations, each for its dispatch keys, of those operations that there are."""

    def __init__(self, wanted: Iterable[tuple[Implementation, tuple[str, ...]]]) -> None:
        self._waiting = list(wanted)
        self._libraries: dict[str, Any] = {}

    def register(self) -> None:
        """Replace what is not replaced yet, and is there."""
        with _lock:
            ready = [pair for pair in self._waiting if is_loaded(pair[0])]
            self._waiting = [pair for pair in self._waiting if not is_loaded(pair[0])]
            for one, keys in ready:
                for key in keys:
                    _register(self._library(one.namespace), one, key)

    def undo(self) -> None:
        """Put all back, and replace nothing any more."""
        with _lock:
            self._waiting.clear()
            for library in self._libraries.values():
                library._destroy()

    def _library(self, namespace: str) -> Any:
        if namespace not in self._libraries:
            Library: Any = torch.library.Library
            self._libraries[namespace] = Library(namespace, "IMPL")
        return self._libraries[namespace]


def _register(library: Any, one: Implementation, key: str) -> None:
    for overload, kernel in one.kernels.items():
        for name, variant in list_variants(one.namespace, overload, kernel):
            original_kernels.remember(f"{one.namespace}::{name}", key)
            with warnings.catch_warnings():
                # It is meant: torch warns of the first kernel in a process that replaces one of its own.
                warnings.simplefilter("ignore", UserWarning)
                # Up to torch 2.11 a kernel of Python is replaced by another only where that is asked for.
                library.impl(name, _put_below_autograd(variant), key, allow_override=True)


def _put_below_autograd(kernel: Kernel) -> Kernel:
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
