"""How many threads compute one operation: https://pytorch.org/docs/stable/notes/cpu_threading_torchscript_inference.html."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources import _settings
from samerun.sources.source import Source, Undo

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Threads(Source):
    """Sums are split among threads, so their number is part of the result. On request it is held at one."""

    id = "threads"
    summary = "sums are split among threads: another number of threads gives other last bits"
    advice = "torch.set_num_threads(4)  # the same number everywhere; or OMP_NUM_THREADS=4 in the environment"
    kind = "numerics"
    hooks_into = "torch"

    def environment(self, control: Control) -> Mapping[str, str]:
        """One thread."""
        return dict.fromkeys(_VARIABLES, "1")

    def control(self, control: Control) -> Undo | None:
        """One thread, the only number that every machine has."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        return lambda: torch.set_num_threads(before)

    def describe(self) -> Mapping[str, Any]:
        """Threads within and between operations, and the variables that set them."""
        import torch

        return {
            "intra": torch.get_num_threads(),
            "inter": torch.get_num_interop_threads(),
            **{name: os.environ.get(name) for name in _VARIABLES},
        }

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs had another number of threads."""
        return _settings.differing(self.id, difference, keys=("intra",))
