"""Runs one operation again alone, right where it ran, and says how many different results it gives.

What it does here leaves nothing behind: inputs are copied, generators and flags put back. The number of
threads cannot be put back without a trace (MKL keeps that it was set), and no process has a second first
call, so for these the inputs go to fresh processes.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from samerun import real_clock
from samerun.errors import UsageError
from samerun.recording.replay.call import Call, Generators, digest_all, take
from samerun.recording.replay.fresh_processes import Fresh
from samerun.recording.replay.worker_main import run_several
from samerun.runs.plan import Probe

_Came = Callable[[Sequence[Any], dict[str, Any], Any], list[Any]]


class Prober:
    """Waits for the plan's operation, and runs it again."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._seen = 0
        self._call: Call | None = None
        self._why = ""  # the operation could not be copied
        self._fresh = Fresh()

    def is_here(self, place: tuple[int, str, str | None, str | None, str]) -> bool:
        """Whether the operation at (step, phase, module, call site, name) is the one."""
        probe = self._probe
        self._fresh.start()
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
        trained = digest_all(came(args, kwargs, result))
        again = functools.partial(call.run, function, came)
        try:
            ways = [run_several("as it is", again, trained, real_clock.read_s)]
            for name, fill in (("deterministic", False), ("deterministic, memory filled", True)):
                with _set_deterministic(fill):
                    ways.append(run_several(name, again, trained, real_clock.read_s))
        finally:
            generators.restore()
        fresh, why = self._fresh.run(call, trained)
        return json.dumps({"why": why, "ways": [*(way._asdict() for way in ways), *fresh]})


@contextlib.contextmanager
def _set_deterministic(fill: bool) -> Iterator[None]:
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
