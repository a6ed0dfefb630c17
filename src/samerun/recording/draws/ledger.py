"""Tier `ops`: the draws from Python's and NumPy's generators, by the line that made them.

Of each step, line, function and generator one row is written: how often it drew, what came out, and the state
before. Draws from torch's generators are operations, and recorded as such, except in DataLoader workers.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_128

from samerun import callsite, digest, wrapping
from samerun.interruption import is_the_scripts
from samerun.recording.at_work import AtWork
from samerun.runs.record import Record
from samerun.sources.python_random import PythonRandom
from samerun.wrapping import Around, Parameter

if TYPE_CHECKING:
    from samerun.recording.evidence_log import Journal

_STATE = {"seed", "getstate", "setstate", "get_state", "set_state", "get_bit_generator", "set_bit_generator"}
_NO_DRAWS = {*_STATE, "spawn", "bit_generator"}
_MOST = 100_000  # rows of one process

_Key = tuple[str, str, types.CodeType, int, int, str]


class _DrawCount:
    """What one line drew from one generator in one step."""

    __slots__ = ("before", "came", "count", "generator", "site")

    def __init__(self, generator: str, site: str, before: bytes | None) -> None:
        self.generator = generator
        self.site = site
        self.before = before  # the digest of the generator's state
        self.count = 0
        self.came = xxh3_128()


class Generator(NamedTuple):
    """A generator that is drawn from."""

    name: str  # a source id; with ":generator" one that the script made
    state: Callable[[], bytes]  # the digest of its state


class Draws:
    """Counts draws, and writes them as a step ends."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._pending: dict[_Key, _DrawCount] = {}
        self._inside = AtWork()  # a draw that draws itself counts once
        self._written = 0

    def through(
        self,
        generator: Generator,
        function: str,
        call: Callable[[], Any],
        came: Callable[[Any], Any],
        caller: types.FrameType | None,
    ) -> Any:
        """Make the call, which draws from the generator; `came` says what of its result was drawn."""
        if self._inside.busy or self._journal.is_paused():
            return call()
        self._inside.busy = True
        try:
            drawn = self._meet(generator, function, caller)
            result = call()
            if drawn is not None:
                self._count(drawn, came(result))
            return result
        finally:
            self._inside.busy = False

    @contextlib.contextmanager
    def unheard(self) -> Iterator[None]:
        """What is drawn meanwhile is not the script's."""
        before, self._inside.busy = self._inside.busy, True
        try:
            yield
        finally:
            self._inside.busy = before

    def _meet(self, generator: Generator, function: str, caller: types.FrameType | None) -> _DrawCount | None:
        try:
            frame = callsite.find_user_frame(3) or _find_in_helper(caller)
            if frame is None or callsite.is_samerun(caller):
                return None
            step, phase = self._journal.where()
            key = (generator.name, function, frame.f_code, frame.f_lineno, step, phase)
            drawn = self._pending.get(key)
            if drawn is None and self._written + len(self._pending) < _MOST:
                drawn = _DrawCount(generator.name, callsite.call_site(frame), generator.state())
                self._pending[key] = drawn
            return drawn
        except Exception as error:
            self._journal.fail(error)
            return None

    def _count(self, drawn: _DrawCount, value: Any) -> None:
        try:
            drawn.count += 1
            drawn.came.update(_digest(value))
            self._journal.count_event(drawn.generator, drawn.site)
        except Exception as error:
            self._journal.fail(error)

    def flush(self, batch: int | None = None) -> None:
        """Write what was drawn since the last time; in a worker, for its batch of this number."""
        pending, self._pending = self._pending, {}
        self._written += len(pending)
        for record in _make_records(pending, batch):
            self._journal.write(record)

    def list_pending(self) -> list[Record]:
        """What was drawn since the last time, which is still to be written."""
        return _make_records(dict(self._pending), None)

    def forget(self) -> None:
        """In a forked child: what the parent drew is the parent's to write."""
        self._pending.clear()
        self._written = 0


def _find_in_helper(caller: types.FrameType | None) -> types.FrameType | None:
    """The library's own frame, in a process that a library started to make the data in.

    No line of the user's stands above it there. Workers of a DataLoader are seen to elsewhere.
    """
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None or multiprocessing.parent_process() is None:
        return None
    of_loader = getattr(sys.modules.get("torch.utils.data._utils.worker"), "_worker_info", None)
    if of_loader is not None or not callsite.is_library(caller):
        return None
    frame = caller
    while frame is not None and not callsite.acts_for_itself(frame):
        frame = frame.f_back
    # What a module draws as it is imported ends at the machinery of imports.
    begins = frame is not None and frame.f_globals.get("__name__") == "multiprocessing.process"
    return caller if begins else None


def _make_records(drawn: dict[_Key, _DrawCount], batch: int | None) -> list[Record]:
    return [
        Record(
            step,
            phase,
            "draw",
            name,
            call_site=count.site,
            digest=count.came.digest(),
            inputs=None if count.before is None else int.from_bytes(count.before[:8], "little"),
            value=float(count.count),
            detail=json.dumps({"function": function} | ({} if batch is None else {"batch": batch})),
        )
        for (name, function, _, _, step, phase), count in drawn.items()
    ]


def _digest(value: Any) -> bytes:
    try:
        return digest.digest_value(value)
    except Exception as error:  # the script's own object, which cannot be read
        if is_the_scripts(error):
            raise
        return bytes(16)


# --- python --------------------------------------------------------------------------------------------


def observe_random(draws: Draws, module: types.ModuleType) -> None:
    """Wrap the functions of `random`, which are methods of one hidden instance, and those of its class.

    Libraries draw from that instance without the functions: it is NetworkX's `seed=None`.
    """
    shared = Generator(PythonRandom.id, PythonRandom().digest)
    hidden: random.Random = random._inst

    def find_generator(self: random.Random) -> Generator | None:
        return shared if self is hidden else _make_generator(self)

    for name, function in list(vars(module).items()):
        if _draws(name) and callable(function) and getattr(function, "__self__", None) is hidden:
            wrapping.wrap_attribute(module, name, _wrap_function(draws, shared, f"random.{name}"))
    for name in dir(random.Random):
        if _draws(name) and callable(getattr(random.Random, name)):
            wrapping.wrap_attribute(
                random.Random, name, _wrap_method(draws, f"random.Random.{name}", find_generator)
            )


def _make_generator(self: random.Random) -> Generator | None:
    if isinstance(self, random.SystemRandom) or not isinstance(self, random.Random):
        return None  # the system's entropy has no state
    return Generator(f"{PythonRandom.id}:generator", lambda: digest.digest_value(self.getstate()))


# --- numpy ---------------------------------------------------------------------------------------------


def observe_numpy(draws: Draws, module: types.ModuleType) -> None:
    """Wrap the functions of `numpy.random`, and put recording classes in the place of its generators'."""
    from samerun.sources.numpy_generator import NumpyGenerator
    from samerun.sources.numpy_global import NumpyGlobal

    shared = Generator(NumpyGlobal.id, NumpyGlobal().digest)
    states = _observe_class(
        draws, module, "RandomState", f"{NumpyGlobal.id}:generator", ("mtrand", "_pickle"), shared
    )
    _observe_shared(draws, module, shared, states)
    recording = _observe_class(draws, module, "Generator", NumpyGenerator.id, ("_generator", "_pickle"))
    seed = Parameter("seed", 0)

    def made(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        rng = original(*args, **kwargs)
        if rng is seed.of(args, kwargs) or type(rng) is not recording.__base__:
            return rng
        return recording(rng.bit_generator)

    wrapping.wrap_attribute(module, "default_rng", made)


def _observe_shared(draws: Draws, module: types.ModuleType, shared: Generator, recording: Any) -> None:
    """Wrap the functions, and put one that records its draws in the place of the hidden object.

    Libraries draw from that one without the functions: it is scikit-learn's and SciPy's
    `check_random_state(None)`. Where one is held already, by `from numpy.random import normal` for example,
    the object stays: two of them would each keep a spare normal variate, and a seed would reach only one.
    """
    mtrand = module.mtrand
    hidden = mtrand._rand
    functions = _find_methods((module, mtrand), hidden)
    alone = not _is_held((hidden, *functions.values()), (vars(module), vars(mtrand), functions))
    # Before NumPy 1.24 some of the functions keep to the old one without being its methods.
    if alone and type(hidden) is recording.__base__ and not hasattr(mtrand.seed, "__self__"):
        mtrand._rand = recording(hidden._bit_generator)
        mtrand._rand.set_state(hidden.get_state(legacy=False))
    for (place, name), function in functions.items():
        function = getattr(super(recording, mtrand._rand), name) if mtrand._rand is not hidden else function
        if _draws(name):
            function = wrapping.wrap(function, _wrap_function(draws, shared, f"numpy.random.{name}"), place)
        if function is not vars(place)[name]:
            wrapping.replace(place, name, function)


def _find_methods(
    places: tuple[types.ModuleType, ...], owner: Any
) -> dict[tuple[types.ModuleType, str], Callable[..., Any]]:
    return {
        (place, name): function
        for place in places
        for name, function in vars(place).items()
        if callable(function) and getattr(function, "__self__", None) is owner
    }


def _is_held(values: tuple[Any, ...], known: tuple[Any, ...]) -> bool:
    """Whether anything refers to one of the values, beside themselves, what is known to, and what is ours."""
    apart = {id(each) for each in (values, *values, *known)}
    return any(
        id(each) not in apart
        and not isinstance(each, types.FrameType)
        and not str(getattr(type(each), "__module__", "")).startswith("samerun.")
        for each in gc.get_referrers(*values)
    )


def _observe_class(
    draws: Draws,
    module: types.ModuleType,
    name: str,
    source: str,
    within: tuple[str, ...],
    shared: Generator | None = None,
) -> Any:
    """Put a class that records its draws in the place of one of NumPy's, wherever NumPy makes its objects.

    Objects of NumPy's own class count as of ours and the other way round. Those that are pickled are of
    NumPy's wherever there is no recorder.
    """
    base = getattr(module, name)

    def generator(self: Any) -> Generator | None:
        if not isinstance(self, base):
            return None
        if shared is not None and self is module.mtrand._rand:
            return shared
        return Generator(source, lambda: digest.digest_value(_read_state(base, self)))

    methods = {
        key: wrapping.wrap(getattr(base, key), _wrap_method(draws, f"numpy.random.{name}.{key}", generator))
        for key in dir(base)
        if _draws(key) and callable(getattr(base, key))
    }
    recording = wrapping.stand_in(base, methods)
    for place in (module, *(getattr(module, inner, None) for inner in within)):
        if getattr(place, name, None) is base:
            wrapping.replace(place, name, recording)
    return recording


def _read_state(kind: Any, generator: Any) -> Any:
    """The state of a NumPy generator, as numbers and arrays; by NumPy's own method, as Gym has another."""
    if hasattr(kind, "get_state"):
        return kind.get_state(generator, legacy=False)
    return generator.bit_generator.state


# --- both ----------------------------------------------------------------------------------------------


def _draws(name: str) -> bool:
    return not name.startswith("_") and name not in _NO_DRAWS and name != "VERSION"


def _wrap_function(draws: Draws, generator: Generator, label: str) -> Around:
    def drawn(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return draws.through(
            generator,
            label,
            functools.partial(original, *args, **kwargs),
            lambda result: args[:1] if result is None else result,  # shuffle works on its argument
            callsite.find_caller(2),
        )

    return drawn


def _wrap_method(draws: Draws, label: str, generator: Callable[[Any], Generator | None]) -> Around:
    def drawn(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        of, caller = generator(args[0]) if args else None, callsite.find_caller(2)
        if of is None:
            return original(*args, **kwargs)
        if callsite.is_a_source(caller):  # a control makes a seed, by a generator of its own
            with draws.unheard():
                return original(*args, **kwargs)
        return draws.through(
            of,
            label,
            functools.partial(original, *args, **kwargs),
            lambda result: args[1:2] if result is None else result,
            caller,
        )

    return drawn


wrapping.hide_frames(Draws.through)
