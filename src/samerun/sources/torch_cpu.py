"""torch's default generator on the CPU: https://pytorch.org/docs/stable/notes/randomness.html."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samerun.runs.plan import Control
from samerun.sources import _builtin_method, _patch, _seeding, _user_code
from samerun.sources._torch_rng import TorchRng
from samerun.sources._unseeded import Unseeded
from samerun.sources.source import Journal, Undo

if TYPE_CHECKING:
    import torch

_ENTROPY_BITS = 53  # of the seeds that torch takes from the system


class TorchCpu(TorchRng):
    """Initial weights, dropout, shuffling and the seeds of DataLoader workers, unseeded."""

    id = "torch-cpu"
    summary = "torch's CPU generator (initial weights, dropout, shuffling, worker seeds) has no fixed seed"
    advice = "import torch; torch.manual_seed(0)"
    seeded_by = ("torch.manual_seed",)

    def generators(self) -> Sequence[torch.Generator]:
        """The one default generator."""
        import torch

        return (torch.default_generator,)

    def reseed(self, seed: int) -> None:
        """Seed the CPU's generator and no other device's."""
        import torch

        torch.default_generator.manual_seed(seed)

    def control(self, control: Control) -> Undo | None:
        """Seed it, and make `Generator.seed()`, which `torch.seed()` calls, take its seed from a stream."""
        import torch

        undo_seed = super().control(control)
        assert undo_seed is not None
        unseeded = Unseeded(control.seed, self.id)
        kind: Any = torch._C.Generator

        @functools.wraps(kind.seed)
        def seed(self_: torch.Generator) -> int:
            value = unseeded.stream().seed64 >> 64 - _ENTROPY_BITS
            self_.manual_seed(value)
            return value

        return _patch.all_of([undo_seed, _builtin_method.replace(kind, "seed", seed)])

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another seed, and others for what the script seeds torch and its own generators with."""
        import torch

        undo_seed = super().vary(value, took)
        assert undo_seed is not None
        seed, generator = torch.manual_seed, _varied_generator(value, self.id)

        @functools.wraps(seed)
        def manual_seed(given: Any) -> torch.Generator:
            return seed(_seeding.mixed(value, self.id, given))

        undos = [_replace("manual_seed", manual_seed), _patch.replace(torch, "Generator", generator)]
        return _patch.all_of([undo_seed, *undos])

    def observe(self, journal: Journal) -> Undo | None:
        """Note each `torch.manual_seed`; as unseeded `torch.seed()`, and a look at the seed before that."""
        import torch

        reseeds, looks_at = torch.seed, torch.initial_seed
        noting = _seeding.noting(journal, "torch.manual_seed", torch.manual_seed)
        seeded = False

        @functools.wraps(reseeds)
        def seed() -> int:
            journal.note("unseeded", self.id, user_only=True)
            return reseeds()

        @functools.wraps(noting)
        def manual_seed(*args: Any, **kwargs: Any) -> torch.Generator:
            nonlocal seeded
            seeded = True
            return noting(*args, **kwargs)

        @functools.wraps(looks_at)
        def initial_seed() -> int:
            if not seeded:
                journal.note("unseeded", self.id, detail="looked at", user_only=True)
            return looks_at()

        replaced = {"seed": seed, "manual_seed": manual_seed, "initial_seed": initial_seed}
        return _patch.all_of([_replace(name, value) for name, value in replaced.items()])


def _varied_generator(value: int, id_: str) -> Any:
    """torch.Generator, except that it is seeded with others than the numbers that it is given."""
    import torch

    original: Any = torch.Generator

    class Meta(type(original)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

    class Generator(original, metaclass=Meta):  # type: ignore[misc]
        def manual_seed(self, seed: int) -> Any:
            ours = _user_code.is_samerun(sys._getframe(1))
            return super().manual_seed(seed if ours else _seeding.mixed(value, id_, seed))

    return Generator


def _replace(name: str, value: object) -> Undo:
    import torch

    return _patch.all_of([_patch.replace(torch, name, value), _patch.replace(torch.random, name, value)])
