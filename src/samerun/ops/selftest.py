"""Whether each installed operation repeats itself here: what replaces an operation silences its refusal."""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from samerun.digest import digest_tensor
from samerun.ops.catalogue import implementations
from samerun.ops.implementation import Implementation
from samerun.ops.installation import installed, is_built_for, is_loaded

_BESIDE = 20  # runs that meet one load of other work: it ends, and may do so before they have
_T = TypeVar("_T")


@dataclass(frozen=True)
class Outcome:
    """What many runs of one operation on one device gave."""

    name: str
    device: str
    runs: int
    results: int  # how many different ones there were; 0: it could not be computed
    error: str | None = None

    @property
    def repeats(self) -> bool:
        """Whether every run gave the same bits."""
        return self.results == 1


def run_selftest(runs: int) -> Iterator[Outcome]:
    """Run each operation that is replaced here `runs` times, on every kind of device that it is replaced for.

    On the CPU at one thread and at several, with the same bits; on CUDA beside other work. The operations of
    another library are left out where that is not installed, or does not fit this torch.
    """
    with installed():
        for one in implementations().values():
            for key in one.devices:
                there = is_built_for(key) and (key == "CPU" or torch.cuda.is_available())
                if there and is_importable(one):
                    yield run_operation(one, torch.device(key.lower()), runs)


def is_importable(one: Implementation) -> bool:
    """Whether there is the operation, if need be after importing the library that brings it."""
    if not is_loaded(one) and one.namespace != "aten":
        _import(one.namespace)
    return is_loaded(one)


@functools.cache
def _import(library: str) -> None:
    try:
        importlib.import_module(library)
    except Exception:  # it is not installed, or says in its own way that it does not fit this torch
        pass


def run_operation(one: Implementation, device: torch.device, runs: int) -> Outcome:
    """Run one operation, as it is installed now."""
    digests: set[tuple[bytes, ...]] = set()
    try:
        for threads in _choose_threads(device):
            with _set_threads(threads):
                digests.update(repeat(lambda: digest_results(one, one.example(device)), device, runs))
    except RuntimeError as error:
        return Outcome(one.name, device.type, runs, 0, str(error).splitlines()[0])
    return Outcome(one.name, device.type, runs, len(digests))


def repeat(run: Callable[[], _T], device: torch.device, times: int) -> Iterator[_T]:
    """What so many runs give, beside other work on the device, which ends and is begun anew."""
    for begin in range(0, times, _BESIDE):
        with _load(device):
            for _ in range(begin, min(begin + _BESIDE, times)):
                yield run()


def digest_results(one: Implementation, args: tuple[Any, ...]) -> tuple[bytes, ...]:
    """The digests of what one operation gives, as it is installed now."""
    name, _, kind = next(iter(one.kernels)).partition(".")
    result = getattr(getattr(getattr(torch.ops, one.namespace), name), kind or "default")(
        *args, **one.options
    )
    results = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(digest_tensor(t) for t in results if isinstance(t, torch.Tensor))


def _choose_threads(device: torch.device) -> tuple[int, ...]:
    return (1, max(2, os.cpu_count() or 1)) if device.type == "cpu" else (torch.get_num_threads(),)


@contextmanager
def _set_threads(threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _load(device: torch.device) -> Iterator[None]:
    """Other work on the device meanwhile, so that blocks start in another order each time."""
    if device.type == "cpu":
        yield
        return
    cuda: Any = torch.cuda
    side = cuda.Stream()
    matrix = torch.randn(1024, 1024, device=device)
    with cuda.stream(side):
        for _ in range(200):
            torch.mm(matrix, matrix)
    yield
    side.synchronize()
