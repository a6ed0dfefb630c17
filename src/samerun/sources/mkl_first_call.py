"""The first call of MKL's vector mathematics in a process.

Measured on torch 2.13, CPU, 2 threads: the first sqrt or exp of a large tensor in a fresh process was
computed at low accuracy in one thread's part in 1 or 2 of 10 processes; never after one small call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from samerun.editing.edit import Edit, Opening
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.plan import Control
from samerun.sources.evidence import op_families
from samerun.sources.source import Kind, Source, Undo

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


class MklFirstCall(Source):
    """The first exp, sqrt, … of a process, when several threads compute it."""

    id = "mkl-first-call"
    summary = "the first exp or sqrt of a process is sometimes computed at low accuracy in one thread's part"
    advice = "torch.ones(64).exp(); torch.ones(64).sqrt()  # once, at the start"
    kind = Kind.KERNEL
    modes = ("strict", "warn")
    hooks_into = "torch"

    def control(self, control: Control) -> Undo | None:
        """Make a small call of each now; draws no random numbers."""
        import torch

        with torch.no_grad():
            ones = torch.ones(64)
            for call in (torch.exp, torch.sqrt, torch.log, torch.tanh):
                call(ones)
        return None

    def recognise(self, difference: Difference) -> Evidence | None:
        """The first such operation of its process gave other bits for equal inputs, on the CPU."""
        if not op_families.is_first_vector_math(difference):
            return None
        assert difference.origin is not None
        text = f"{difference.origin.op} gave other bits for equal inputs, the first time it ran"
        return Evidence(self.id, Strength.SEEN, text, difference.origin.call_site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """A small call of each kind before the first large one."""
        calls = "(64).exp().sqrt().log().tanh()"
        return [Opening("torch.ones", calls, "the first calls, which may be inexact")]
