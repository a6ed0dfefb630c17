"""torch's default generator on Apple GPUs: https://pytorch.org/docs/stable/mps.html."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from samerun.sources.base.torch_rng import TorchRng

if TYPE_CHECKING:
    import torch


class TorchMps(TorchRng):
    """Random numbers drawn on an Apple GPU, unseeded."""

    id = "torch-mps"
    in_forks = False
    summary = "torch's generator on Apple GPUs has no fixed seed"
    advice = "import torch; torch.manual_seed(0)  # seeds every device"
    seeded_by = ("torch.manual_seed",)
    save_lines = ("torch.mps.get_rng_state()", "torch.mps.set_rng_state({})")

    def generators(self) -> Sequence[torch.Generator]:
        """The one generator, where there is such a device."""
        import torch

        return (torch.mps._get_default_mps_generator(),) if torch.backends.mps.is_available() else ()

    def reseed(self, seed: int) -> None:
        """Seed the device, where there is one."""
        for generator in self.generators():
            generator.manual_seed(seed)
