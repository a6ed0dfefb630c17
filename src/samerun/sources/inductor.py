"""What torch.compile chooses by timing: https://docs.pytorch.org/docs/stable/torch.compiler.html."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources.evidence import timed_choices
from samerun.sources.evidence.timed_choices import Choice
from samerun.sources.patching import deterministic, imported
from samerun.sources.source import Journal, Kind, Source, Undo
from samerun.wrapping import MISSING, SELF, Parameter, undo_all, wrap_attribute

_KERNELS = "torch._inductor.runtime.triton_heuristics"
_TEMPLATES = "torch._inductor.select_algorithm"
_PREFIX = "inductor."
_OWN = "USER_AUTOTUNE"  # what torch calls the kernels that a program wrote for itself
_name, _timings = Parameter("name", 0), Parameter("timings", 2)


class Inductor(Source):
    """Kernels of compiled code that were the fastest when they were compiled.

    torch's own deterministic mode of the compiler (torch 2.10), which nondeterministic-kernels turns on,
    times nothing that decides bits, except kernels of the program's own with `@triton.autotune`: of those the
    control takes the first.
    """

    id = "inductor"
    summary = "torch.compile times kernels, and takes the fastest, another one now and then"
    advice = "torch._inductor.config.deterministic = True  # or TORCHINDUCTOR_DETERMINISTIC=1 (torch 2.10)"
    cannot_mend = (
        "start with TORCHINDUCTOR_DETERMINISTIC=1 (torch 2.10), or keep the choices: a "
        "TORCHINDUCTOR_CACHE_DIR that stays from run to run"
    )
    kind = Kind.KERNEL
    modes = ("strict", "warn")
    also_hooks_into = (_KERNELS, _TEMPLATES)

    def __init__(self) -> None:
        self._observed: set[str] = set()
        self._controlled: set[str] = set()

    def environment(self, control: Control) -> Mapping[str, str]:
        """torch's deterministic mode of the compiler; the user's own value stays."""
        return {deterministic.VARIABLE: os.environ.get(deterministic.VARIABLE, "1")}

    def control(self, control: Control) -> Undo | None:
        """Of the program's own kernels that are compiled from here on, the first configuration."""
        whole = imported.has(_KERNELS, "CachingAutotuner")
        return imported.patch_new(self._controlled, {_KERNELS: _take_the_first} if whole else {})

    def observe(self, journal: Journal) -> Undo | None:
        """Note each choice, as it is made."""
        there = {
            _KERNELS: ("CachingAutotuner", lambda: _note_kernels(journal)),
            _TEMPLATES: ("AlgorithmSelectorCache", lambda: _note_templates(journal)),
        }
        whole = {name: note for name, (holds, note) in there.items() if imported.has(name, holds)}
        return imported.patch_new(self._observed, whole)

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs chose otherwise."""
        return timed_choices.recognise(self.id, _PREFIX, difference)


def _take_the_first() -> Undo:
    def benchmark(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tuner = SELF.of(args, kwargs, None)
        if getattr(getattr(tuner, "heuristic_type", None), "name", "") != _OWN:
            return original(*args, **kwargs)
        return {launcher: float(number) for number, launcher in enumerate(tuner.launchers)}

    tuner: Any = sys.modules[_KERNELS].CachingAutotuner
    return wrap_attribute(tuner, "benchmark_all_configs", benchmark)


def _note_kernels(journal: Journal) -> Undo:
    """Those of Triton: of several configurations, or the one that was kept from an earlier time."""

    def note(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = original(*args, **kwargs)
        tuner = SELF.of(args, kwargs, None)
        if len(getattr(tuner, "launchers", ())) == 1:
            name = f"{_PREFIX}{getattr(tuner.fn, '__name__', 'kernel')}"
            timed_choices.note(journal, Choice(name, str(tuner.launchers[0].config)))
        return result

    tuner: Any = sys.modules[_KERNELS].CachingAutotuner
    names = ("precompile", "autotune_to_one_config", "coordinate_descent_tuning")
    return undo_all([wrap_attribute(tuner, name, note) for name in names if hasattr(tuner, name)])


def _note_templates(journal: Journal) -> Undo:
    """Products of matrices and convolutions, of torch's own and of the compiler's."""

    def note(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name, timings = _name.of(args, kwargs), _timings.of(args, kwargs)
        if timings is not MISSING and timings:
            timed_choices.note(journal, Choice(f"{_PREFIX}{name}", str(min(timings, key=timings.get))))
        return original(*args, **kwargs)

    chooser: Any = sys.modules[_TEMPLATES].AlgorithmSelectorCache
    return wrap_attribute(chooser, "log_results", note) if hasattr(chooser, "log_results") else lambda: None
