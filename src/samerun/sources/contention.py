"""Other work on the same machine, which moves the timing of everything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from samerun.sources.source import Kind, Settings, Source, Variant

_SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100000))"


class Contention(Source):
    """What depends on timing differs more often when the processor is busy."""

    id = "contention"
    summary = "other work on the machine changes which thread or worker is first"
    advice = "find what depends on timing with samerun diagnose while the machine is busy"
    kind = Kind.WORLD
    controllable = False

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """One processor kept busy."""
        return [Variant("a busy second core", likely=0.3, runs=1.7, around=_keep_busy)]


@contextmanager
def _keep_busy() -> Iterator[None]:
    """Keep one processor busy; ends by itself should this process be killed."""
    process = subprocess.Popen([sys.executable, "-I", "-c", _SPIN], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()
