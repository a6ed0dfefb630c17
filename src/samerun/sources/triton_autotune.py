"""Triton's autotuner: https://triton-lang.org/main/python-api/generated/triton.autotune.html."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources.evidence import timed_choices
from samerun.sources.evidence.timed_choices import Choice
from samerun.sources.patching import imported
from samerun.sources.source import Journal, Kind, Source, Undo
from samerun.wrapping import MISSING, SELF, Parameter, undo_all, wrap_attribute

_MODULE = "triton.runtime.autotuner"
_PREFIX = "triton."
_FAILED = float("inf")
_bench_fn = Parameter("bench_fn", 3)


class TritonAutotune(Source):
    """`@triton.autotune`: the configuration that was fastest, which adds in an order of its own.

    The control takes the first configuration that the device can launch, and times none. What Triton keeps of
    earlier timings on disk is neither read nor written then.
    """

    id = "triton-autotune"
    summary = "Triton times the configurations of a kernel and takes the fastest, another one now and then"
    advice = "leave one configuration in @triton.autotune(configs=[…])"
    cannot_mend = (
        "which configuration is right for your kernel is yours to say: leave one in "
        "@triton.autotune(configs=[…]), or keep the choice: TRITON_CACHE_AUTOTUNING=1 with a "
        "TRITON_CACHE_DIR that stays (Triton 3.4)"
    )
    kind = Kind.KERNEL
    modes = ("strict", "warn")
    also_hooks_into = (_MODULE,)

    def __init__(self) -> None:
        self._observed: set[str] = set()
        self._controlled: set[str] = set()

    def control(self, control: Control) -> Undo | None:
        """The first configuration that can be launched, from here on; what was chosen before stays."""
        whole = imported.has(_MODULE, "Autotuner")
        return imported.patch_new(self._controlled, {_MODULE: _take_the_first} if whole else {})

    def observe(self, journal: Journal) -> Undo | None:
        """Note each choice, as it is made."""
        whole = imported.has(_MODULE, "Autotuner")
        return imported.patch_new(self._observed, {_MODULE: lambda: _note_choices(journal)} if whole else {})

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs chose otherwise."""
        return timed_choices.recognise(self.id, _PREFIX, difference)


class _Launched(threading.local):
    """Whether a configuration of the kernel that is being tuned in this thread was launched."""

    yet = False


def _take_the_first() -> Undo:
    kind: Any = sys.modules[_MODULE].Autotuner
    launched = _Launched()

    def run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        before, launched.yet = launched.yet, False
        try:
            return original(*args, **kwargs)
        finally:
            launched.yet = before

    def bench(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tuner = SELF.of(args, kwargs, None)
        if tuner is None:
            return original(*args, **kwargs)  # which says what is wrong
        if launched.yet:
            return [_FAILED] * 3
        own = vars(tuner)
        timer = own.get("do_bench")
        own["do_bench"] = _launch_once
        try:
            seconds = original(*args, **kwargs)
        finally:
            if timer is None:
                del own["do_bench"]
            else:
                own["do_bench"] = timer
        launched.yet = seconds[0] < _FAILED
        return seconds

    def look_up(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        time_it = _bench_fn.of(args, kwargs)
        if time_it is MISSING:
            return original(*args, **kwargs)  # which says what is wrong
        time_it()
        return False

    undos = [wrap_attribute(kind, "run", run), wrap_attribute(kind, "_bench", bench)]
    if hasattr(kind, "check_disk_cache"):  # Triton ≥ 3.4
        undos.append(wrap_attribute(kind, "check_disk_cache", look_up))
    return undo_all(undos)


def _launch_once(call: Callable[[], object], *_: Any, **__: Any) -> list[float]:
    call()
    return [1.0] * 3


def _note_choices(journal: Journal) -> Undo:
    kind: Any = sys.modules[_MODULE].Autotuner

    def run(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tuner = SELF.of(args, kwargs, None)
        if tuner is None:
            return original(*args, **kwargs)  # which says what is wrong
        chosen = tuner.cache
        before = len(chosen)
        with journal.unheard():  # it reads a clock
            result = original(*args, **kwargs)
        if len(chosen) > before:
            name = f"{_PREFIX}{getattr(tuner.base_fn, '__name__', 'kernel')}"
            for key, config in list(chosen.items())[before:]:
                timed_choices.note(journal, Choice(name, str(config), str(key)))
        return result

    return wrap_attribute(kind, "run", run)
