"""Applies the sources' controls: in this process, for as long as asked."""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ContextDecorator, ExitStack
from types import TracebackType
from typing import Any, Literal, TypeVar

from samerun import layers, lineage, stepping
from samerun.errors import TooLate, UsageError
from samerun.ranks import sync_seed
from samerun.runs.plan import MODES, Control, Fill, Mode
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.sources.per_sample import seeder
from samerun.sources.source import Source
from samerun.streams import checked_seed
from samerun.torch_version import require_torch

_Function = TypeVar("_Function", bound=Callable[..., Any])

_log = logging.getLogger("samerun")
_warned: set[str] = set()


def select_sources(control: Control | None) -> list[Source]:
    """The sources that a control takes hold of, in the order of their ids.

    Raises UsageError for an id that is not in the catalogue or has no control.
    """
    if control is None or control.mode == "off":
        return []
    for id_ in (*(control.only or ()), *control.extra):
        _check_known(id_)
    return [source for source in find_sources().values() if source.is_controlled_by(control)]


def build_environment(control: Control | None) -> dict[str, str]:
    """The variables that must exist when a controlled process starts.

    Raises UsageError when one of the user's own contradicts the control.
    """
    merged: dict[str, str] = {}
    for source in select_sources(control):
        assert control is not None
        merged.update(source.environment(control))
    return merged


def is_contradicted(id_: str) -> bool:
    """Whether the user's own environment keeps the source from being controlled (OMP_NUM_THREADS=2)."""
    try:
        build_environment(Control(only=(id_,)))
    except UsageError:
        return True
    return False


def seed_everything(
    seed: int | None = None,
    *,
    mode: Mode = "strict",
    workers: bool = True,
    deterministic: bool | Literal["warn"] | None = None,
    disable_cudnn: bool = False,
    compatible: bool = False,
    only: Iterable[str] | None = None,
    extra: Iterable[str] = (),
) -> int:
    """Make this process repeatable from here on, and return the seed.

    Without a seed, one is drawn from the operating system's entropy, logged and returned. `workers=False`
    leaves DataLoaders alone. `deterministic` overrides the mode: True is `strict`, "warn" is `warn`, False is
    `seeded`. `compatible`: the global generators of python, numpy and torch give the numbers that
    `random.seed(seed)`, `np.random.seed(seed)` and `torch.manual_seed(seed)` give; else each has a stream of
    its own, and gives others. `extra`: ids of sources that are controlled besides those of the mode, such as
    "clock"; `only`: of these ids and no others. Every rank is seeded alike, as `torch.manual_seed(seed)` in a
    script would: the seed that is drawn is rank 0's (see samerun.ranks.sync_seed). A second call replaces the
    first; mode "off" takes it back. Inside a `control` it lasts until that one's end.

    Raises UsageError for a bad seed or id, and TooLate when CUDA runs already without a cuBLAS workspace.
    """
    if seed is None:
        seed = sync_seed()
        _log.info("seed %d (drawn from the operating system's entropy)", seed)
    value = checked_seed(seed)
    wanted = Control(
        mode=_resolve_mode(mode, deterministic),
        seed=value,
        only=None if only is None else _check_ids("only", only),
        extra=_check_ids("extra", extra),
        disable_cudnn=disable_cudnn,
        compatible=compatible,
    )
    with layers.lock:
        layers.take_back()
        layers.put(_apply(wanted, workers=workers), own_end=False)
    return value


class control(ContextDecorator):  # spelled as people call it
    """A context (or decorator, of coroutine functions too) inside which every selected source is controlled
    in this process.

    On leaving it, also by an exception, RNG states, flags, environment variables and patched functions are
    as they were. `compatible`: see seed_everything. `fill`: uninitialised memory is zeros, or "nan", which
    shows where it is read. Nests. What
    is controlled is the process's: of two that overlap in threads or coroutines, the one entered last is in
    force until its own end, and then both are taken back. Entering gives the Control in force; raises
    UsageError for a bad seed, mode or id, for the decoration of a generator function, and TooLate for what
    can no longer take effect.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        mode: Mode = "strict",
        deterministic: bool | Literal["warn"] | None = None,
        disable_cudnn: bool = False,
        only: Iterable[str] | None = None,
        extra: Iterable[str] = (),
        fill: Fill = False,
        compatible: bool = False,
    ) -> None:
        if fill not in (True, False, "nan"):
            raise UsageError(f"fill is True (zeros), 'nan' or False, not {fill!r}")
        self._control = Control(
            mode=_resolve_mode(mode, deterministic),
            seed=checked_seed(seed),
            only=None if only is None else _check_ids("only", only),
            extra=_check_ids("extra", extra),
            fill=fill,
            disable_cudnn=disable_cudnn,
            compatible=compatible,
        )
        self._layers: list[layers.Layer] = []

    def __call__(self, function: _Function) -> _Function:
        """The function, controlled as long as it runs."""
        if stepping.is_generator_function(function):
            raise UsageError(
                f"{_name_of(function)} is a generator function; controlled from its first value to its last, "
                "whoever iterates it would be too. Write `with control(...):` inside it"
            )
        inside: _Function = stepping.run_inside(function, lambda: self)
        return inside

    def __enter__(self) -> Control:
        with layers.lock:
            self._layers.append(layers.put(_apply(self._control)))
        return self._control

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        layers.end(self._layers.pop())


class isolate_rng(ContextDecorator):  # spelled as people call it
    """A context (or decorator) that leaves the generators of python, numpy and torch (every device) as it
    found them.

    Generator and coroutine functions that it decorates have generators of their own while they run, and
    leave the caller's alone between their steps. Raises UsageError for asynchronous generator functions.
    """

    def __init__(self) -> None:
        self._before: list[_States] = []

    def __call__(self, function: _Function) -> _Function:
        """The function, isolated."""
        if inspect.isasyncgenfunction(function):
            raise UsageError(
                f"{_name_of(function)} is an asynchronous generator function; write `with isolate_rng():` "
                "inside it, around what draws between two of its values"
            )
        if stepping.is_generator_function(function) or stepping.is_coroutine_function(function):
            apart: _Function = stepping.step_by_step(function, _Apart)
            return apart
        inside: _Function = stepping.run_inside(function, lambda: self)
        return inside

    def __enter__(self) -> None:
        self._before.append(_States())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._before.pop().restore()


class _States:
    """The global generators as they are now."""

    def __init__(self) -> None:
        self._states = [(rng, rng.capture()) for rng in _list_rngs() if rng.in_play()]
        self._origins = seeder.get_origins()

    def restore(self) -> None:
        """Put them back."""
        for rng, state in self._states:
            rng.restore(state)
        seeder.put_origins(self._origins)


class _Apart:
    """A context, entered once for each step of something, in which the generators go on from its last one."""

    def __init__(self) -> None:
        self._inside: _States | None = None

    def __enter__(self) -> None:
        self._outside = _States()
        if self._inside is not None:
            self._inside.restore()

    def __exit__(self, *error: object) -> None:
        self._inside = _States()
        self._outside.restore()


def _apply(wanted: Control, *, workers: bool = True) -> ExitStack:
    """Control each selected source in this process; closing what is returned undoes it all."""
    sources = [source for source in select_sources(wanted) if workers or not source.of_workers]
    requested = {*(wanted.only or ()), *wanted.extra}
    if any(source.hooks_into.partition(".")[0] == "torch" for source in sources):
        require_torch("control of torch's sources")
    with ExitStack() as stack:
        if sources:
            stack.callback(lineage.hand_on())
        for source in sources:
            with ExitStack() as variables:
                variables.callback(_set_variables(source.environment(wanted)))
                if source.hooks_into:
                    importlib.import_module(source.hooks_into)
                try:
                    undo = source.control(wanted)
                except TooLate as error:
                    if source.id in requested or source.when_late == "error":
                        raise
                    _warn_once(str(error))
                    undo = None
                if undo is not None:
                    stack.callback(undo)
                stack.callback(variables.pop_all().close)  # added last, so put back first: the undo sees them
        return stack.pop_all()


def _set_variables(variables: Mapping[str, str]) -> Callable[[], None]:
    """Set them, for the processes that this one starts; return what puts them back."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)

    def undo() -> None:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    return undo


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, UserWarning, stacklevel=4)


def _list_rngs() -> list[Rng]:
    return [source for source in find_sources().values() if isinstance(source, Rng)]


def _resolve_mode(mode: Mode, deterministic: bool | Literal["warn"] | None) -> Mode:
    if mode not in MODES:
        raise UsageError(f"no mode is called {mode!r}; the modes are {', '.join(MODES)}")
    if deterministic is None:
        return mode
    if isinstance(deterministic, bool):
        return "strict" if deterministic else "seeded"
    if deterministic == "warn":
        return "warn"
    raise UsageError(f"deterministic is True, False or 'warn', not {deterministic!r}")


def _check_ids(name: str, ids: Iterable[str]) -> tuple[str, ...]:
    if isinstance(ids, str):
        raise UsageError(f"{name} is a list of source ids, not one string; write {name}=[{ids!r}]")
    return tuple(ids)


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _check_known(id_: str) -> None:
    source = find_sources().get(id_)
    if source is None:
        raise UsageError(f"no source is called {id_!r}; the sources are {', '.join(find_sources())}")
    if not source.controllable:
        raise UsageError(f"{id_} has no control; what helps is: {source.advice}")
