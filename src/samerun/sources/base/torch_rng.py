"""What the generators of torch's devices share."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.digest import combine
from samerun.sources.base.rng import Rng
from samerun.sources.per_sample import own_generators

if TYPE_CHECKING:
    import torch


class TorchRng(Rng):
    """torch's default generators of one type of device."""

    hooks_into = "torch"
    mended_by = "torch.manual_seed"
    feeds = frozenset({"setup", "forward", "data"})

    @abstractmethod
    def generators(self) -> Sequence[torch.Generator]:
        """The default generator of each device; empty before the device is initialised."""

    def in_play(self) -> bool:
        """Whether a device of this type is in use; asking does not initialise one."""
        return "torch" in sys.modules and bool(self.generators())

    def capture(self) -> Any:
        """The state of each device's generator, as bytes."""
        return [generator.get_state().numpy().tobytes() for generator in self.generators()]

    def restore(self, state: Any) -> None:
        """Put back what `capture` gave; devices initialised since then keep what they have."""
        import torch

        for generator, kept in zip(self.generators(), state, strict=False):
            own_generators.write(generator, torch.frombuffer(bytearray(kept), dtype=torch.uint8))

    def describe(self) -> Mapping[str, Any]:
        """The seed of each device's generator, as torch names it."""
        return {"initial_seeds": [generator.initial_seed() for generator in self.generators()]}

    def digest(self) -> bytes | None:
        """Of each device's state, which the host keeps: reading it waits for no device."""
        from samerun.digest.host import digest_dense

        states = [digest_dense(generator.get_state()) for generator in self.generators()]
        return states[0] if len(states) == 1 else combine(states)
