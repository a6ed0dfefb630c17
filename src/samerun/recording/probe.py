"""Runs one operation again alone, right where it ran, and says how many different results it gives.

What it does here leaves nothing behind: inputs are copied, generators and flags put back. The number of
threads cannot be put back without a trace (MKL keeps that it was set), and no process has a second first
call, so for these the inputs go to fresh processes.
"""

from __future__ import annotations

import contextlib
import functools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from samerun.errors import UsageError
from samerun.recording.alone import Call, Generators, digested, take
from samerun.recording.rerun import PROGRAM, Way, several
from samerun.runs.plan import Probe

_FRESH = 3  # processes
_PATIENCE = 30.0  # seconds for each of them, side by side: they import torch
_clock = time.perf_counter  # taken now: a script (or the clock source) may replace it
_Came = Callable[[Sequence[Any], dict[str, Any], Any], list[Any]]


class Prober:
    """Waits for the plan's operation, and runs it again."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._seen = 0
        self._call: Call | None = None
        self._why = ""  # the operation could not be copied

    def is_here(self, place: tuple[int, str, str | None, str | None, str]) -> bool:
        """Whether the operation at (step, phase, module, call site, name) is the one."""
        probe = self._probe
        if place != (probe.step, probe.phase, probe.module, probe.call_site, probe.op):
            return False
        self._seen += 1
        return self._seen == probe.nth + 1

    def before(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Keep its inputs as they are."""
        try:
            self._call = take(self._probe.op, args, kwargs)
        except UsageError as error:
            self._why = str(error)

    def after(
        self, function: Any, came: _Came, args: Sequence[Any], kwargs: dict[str, Any], result: Any
    ) -> str:
        """Run it again in every way; what came of that, as JSON."""
        call, self._call = self._call, None
        if call is None:
            return json.dumps({"why": self._why, "ways": []})
        generators = Generators(args, kwargs)
        trained = digested(came(args, kwargs, result))
        again = functools.partial(call.run, function, came)
        try:
            ways = [several("as it is", again, trained, _clock)]
            for name, fill in (("deterministic", False), ("deterministic, memory filled", True)):
                with _deterministic(fill):
                    ways.append(several(name, again, trained, _clock))
        finally:
            generators.restore()
        fresh, why = _fresh(call, trained)
        return json.dumps({"why": why, "ways": [*(way._asdict() for way in ways), *fresh]})


@contextlib.contextmanager
def _deterministic(fill: bool) -> Iterator[None]:
    """torch's deterministic mode, which refuses operations that have no such implementation."""
    before = (
        torch._C._get_deterministic_algorithms(),
        torch._C._get_deterministic_algorithms_warn_only(),
        torch._C._get_deterministic_fill_uninitialized_memory(),
    )
    torch._C._set_deterministic_algorithms(True, warn_only=False)
    torch._C._set_deterministic_fill_uninitialized_memory(fill)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(before[0], warn_only=before[1])
        torch._C._set_deterministic_fill_uninitialized_memory(before[2])


def _fresh(call: Call, trained: bytes) -> tuple[list[dict[str, Any]], str]:
    """(what the operation gives in fresh processes, why that is not known)."""
    said = json.dumps({"path": sys.path, "settings": settings(), "trained": trained.hex()}).encode()
    sent = len(said).to_bytes(8, "little") + said + call.to_bytes()
    try:
        with ThreadPoolExecutor(_FRESH) as pool:
            found = list(pool.map(_in_process, [sent] * _FRESH))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return [], f"no fresh process could run it ({type(error).__name__})"
    return _joined(found), ""


def _in_process(sent: bytes) -> list[dict[str, Any]]:
    command = [sys.executable, "-I", "-c", PROGRAM]
    done = subprocess.run(command, input=sent, capture_output=True, timeout=_PATIENCE, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _joined(found: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The same ways of several processes as one."""
    joined = []
    for same in zip(*found, strict=True):
        results = [result for way in same for result in way["results"]]
        errors = [way["error"] for way in same if way["error"]]
        way = Way(
            same[0]["way"],
            sum(way["runs"] for way in same),
            len(set(results)),
            sum(way["equal"] for way in same),
            errors[0] if errors else None,
        )
        joined.append(way._asdict())
    return joined


def settings() -> dict[str, Any]:
    """What a fresh process must set to compute as this one."""
    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch._C._get_deterministic_algorithms(),
        "warn_only": torch._C._get_deterministic_algorithms_warn_only(),
        "fill": torch._C._get_deterministic_fill_uninitialized_memory(),
        "precision": torch.get_float32_matmul_precision(),
        "mkldnn": torch._C._get_mkldnn_enabled(),
        "cudnn": [
            torch.backends.cudnn.enabled,
            torch.backends.cudnn.benchmark,
            torch.backends.cudnn.deterministic,
        ],
    }
