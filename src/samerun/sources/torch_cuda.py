"""torch's default generators on CUDA devices: https://pytorch.org/docs/stable/notes/cuda.html."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from samerun import callsite
from samerun.runs.plan import Control
from samerun.sources.base.torch_rng import TorchRng
from samerun.sources.patching import seeding_calls
from samerun.sources.source import Journal, Label, Undo
from samerun.wrapping import undo_all

if TYPE_CHECKING:
    import torch


class TorchCuda(TorchRng):
    """Random numbers drawn on CUDA devices, unseeded."""

    id = "torch-cuda"
    in_forks = False
    summary = "torch's CUDA generators (dropout and initial weights made on the GPU) have no fixed seed"
    advice = "import torch; torch.manual_seed(0)  # seeds every device"
    seeded_by = ("torch.cuda.manual_seed", "torch.cuda.manual_seed_all", "torch.manual_seed")
    studied_as = Label(9, "torch's CUDA generators, for all else")
    save_lines = ("torch.cuda.get_rng_state_all()", "torch.cuda.set_rng_state_all({})")
    lost = Label(4, "torch's next draws on the GPU would be others: dropout")

    def generators(self) -> Sequence[torch.Generator]:
        """One for each device, once CUDA is initialised."""
        return _get_cuda().default_generators if _get_cuda().is_initialized() else ()

    def reseed(self, seed: int) -> None:
        """Seed every device, now or as soon as CUDA is initialised."""
        if not _get_cuda()._is_in_bad_fork():
            _get_cuda().manual_seed_all(seed)

    def control(self, control: Control) -> Undo | None:
        """Seed every device; the undo also takes back a seeding that still waits for CUDA."""
        waiting = list(_get_cuda()._queued_calls)
        undo_seed = super().control(control)
        assert undo_seed is not None

        def undo() -> None:
            if not _get_cuda().is_initialized():
                _get_cuda()._queued_calls[:] = waiting
            undo_seed()

        return undo

    def observe(self, journal: Journal) -> Undo | None:
        """Note each seeding of CUDA devices by the script, not those that are a part of torch's."""
        cuda = _get_cuda()
        undos = []
        for name in ("manual_seed", "manual_seed_all"):
            directly = callsite.is_called_directly
            undos.append(
                seeding_calls.note_given(journal, f"torch.cuda.{name}", cuda, directly, [cuda.random])
            )
        return undo_all(undos)


def _get_cuda() -> Any:
    """The module, which has functions without types."""
    import torch

    return torch.cuda
