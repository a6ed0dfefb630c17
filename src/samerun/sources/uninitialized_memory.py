"""Memory read before it was written: https://pytorch.org/docs/stable/generated/torch.empty.html."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources import _deterministic
from samerun.sources._setting import Setting
from samerun.sources.source import Settings, Variant

if TYPE_CHECKING:
    from samerun.editing.code import Code


class UninitializedMemory(Setting):
    """`torch.empty` and its kin give whatever the memory held; the result then depends on what ran before.

    On request (`fill`) torch fills such memory with NaN or the largest integer. It does that only with
    deterministic algorithms on, so these are turned on, warning only, where they are off.
    """

    id = "uninitialized-memory"
    summary = "torch.empty gives whatever the memory held before"
    advice = "torch.zeros(…) instead of torch.empty(…), or write every element before reading one"
    kind = "memory"
    modes = ()

    def read(self) -> dict[str, Any]:
        """The fill, and the mode that it depends on."""
        import torch

        return {
            "fill": _deterministic.memory().fill_uninitialized_memory,
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        }

    def write(self, values: Mapping[str, Any]) -> None:
        """As torch's own functions do."""
        _deterministic.memory().fill_uninitialized_memory = values["fill"]
        _deterministic.switch(values["deterministic"], values["warn_only"])

    def repeatable(self, control: Control) -> Mapping[str, Any]:
        """Fill."""
        now = self.read()
        warn_only = now["warn_only"] if now["deterministic"] else True
        return {"fill": True, "deterministic": True, "warn_only": warn_only}

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Two patterns with which the C library fills what it hands out (glibc's M_PERTURB, mallopt(3)).

        Nothing of torch's own changes, so that operations stay the same ones.
        """
        return [
            Variant(
                f"memory filled with 0x{n:02x}", environment={"MALLOC_PERTURB_": str(n ^ 0xFF)}, likely=0.15
            )
            for n in (0x55, 0x7F)
        ]

    def recognise(self, difference: Difference) -> Evidence | None:
        """The origin read memory that nothing had written."""
        origin = difference.origin
        if origin is None or not origin.reads_uninitialized:
            return None
        text = f"{origin.op} read memory that nothing had written"
        return Evidence(self.id, 1.0, text, origin.call_site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Zeros where the memory is made."""
        from samerun.sources._mending import memory

        edits = memory.zeroed(code, site)
        if not edits:
            raise NoEdit(f"no line of the script makes the memory that {site} reads: {self.advice}")
        return edits
