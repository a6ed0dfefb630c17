"""torch's default generators on Intel GPUs: https://pytorch.org/docs/stable/xpu.html."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from samerun.runs.plan import Control
from samerun.sources.base.torch_rng import TorchRng
from samerun.sources.source import Undo

if TYPE_CHECKING:
    import torch


class TorchXpu(TorchRng):
    """Random numbers drawn on Intel GPUs, unseeded."""

    id = "torch-xpu"
    in_forks = False
    summary = "torch's generators on Intel GPUs have no fixed seed"
    advice = "import torch; torch.manual_seed(0)  # seeds every device"
    seeded_by = ("torch.manual_seed",)
    save_lines = ("torch.xpu.get_rng_state_all()", "torch.xpu.set_rng_state_all({})")

    def generators(self) -> Sequence[torch.Generator]:
        """One for each device, once XPU is initialised."""
        return _get_xpu().default_generators if _get_xpu().is_initialized() else ()

    def reseed(self, seed: int) -> None:
        """Seed every device, now or as soon as XPU is initialised."""
        if not _get_xpu()._is_in_bad_fork():
            _get_xpu().manual_seed_all(seed)

    def control(self, control: Control) -> Undo | None:
        """Seed every device; the undo also takes back a seeding that still waits for XPU."""
        waiting = list(_get_xpu()._queued_calls)
        undo_seed = super().control(control)
        assert undo_seed is not None

        def undo() -> None:
            if not _get_xpu().is_initialized():
                _get_xpu()._queued_calls[:] = waiting
            undo_seed()

        return undo


def _get_xpu() -> Any:
    """The module, which has functions without types."""
    import torch

    return torch.xpu
