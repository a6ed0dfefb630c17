"""What the generators of torch's devices share."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun import callsite
from samerun.digest import combine
from samerun.runs.plan import Control
from samerun.sources.base.rng import Rng
from samerun.sources.per_sample import own_generators, seeder
from samerun.sources.source import Undo
from samerun.wrapping import SELF, Around, undo_all, wrap_attribute

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

    def control(self, control: Control) -> Undo | None:
        """Seed each device's; see where the script seeds one, or puts back a state of it."""
        import torch

        undo_seed = super().control(control)
        assert undo_seed is not None

        def is_own(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
            generator = SELF.of(args, kwargs, None)
            return any(generator is each for each in self.generators())

        def give(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if is_own(args, kwargs):
                self.give()
            return original(*args, **kwargs)

        def put_back(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            result = original(*args, **kwargs)
            if is_own(args, kwargs):
                self.give_back()
            return result

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            caller = callsite.find_caller(2)
            ours = caller is not None and caller.f_globals.get("__name__", "").startswith("samerun.")
            if not ours and is_own(args, kwargs):  # not what we digest, at each step
                self.see_read()
            return original(*args, **kwargs)

        kind: Any = torch._C.Generator
        seen: list[tuple[str, Around]] = [("manual_seed", give), ("set_state", put_back)]
        if self.id in seeder.IDS:  # that one alone: the caller of another's would be this one
            seen.append(("get_state", read))
        return undo_all([undo_seed, *(wrap_attribute(kind, name, hook) for name, hook in seen)])

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
