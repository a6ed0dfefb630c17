"""torch's default generator on the CPU: https://pytorch.org/docs/stable/notes/randomness.html."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samerun import callsite
from samerun.answers import Answers, find_site
from samerun.mersenne import MersenneState, mark_torch_state, read_torch_state
from samerun.runs.difference import Difference, Evidence, Row, Side, Strength
from samerun.runs.plan import Control
from samerun.sources.base.torch_rng import TorchRng
from samerun.sources.evidence import rows as _rows
from samerun.sources.patching import resumed, seeding_calls
from samerun.sources.patching.unseeded_generators import UnseededStreams, note_given
from samerun.sources.source import Journal, Label, Undo
from samerun.wrapping import (
    MISSING,
    SELF,
    Around,
    Parameter,
    replace,
    stand_in,
    undo_all,
    wrap,
    wrap_attribute,
)

if TYPE_CHECKING:
    import torch

_SEED, _OWN_SEED = Parameter("seed", 0), Parameter("seed", 1)  # of the function, and of the method
_OWN_SEED_OF_SYSTEM = "torch.Generator.seed"  # name of an "unseeded": of a generator of the script's own
_OWN_ADVICE = "generator.manual_seed(0) in the place of generator.seed()"
_OWN_OF_EACH = (
    "generator.manual_seed(number) in the place of generator.seed(), with another number each time: the line "
    "may run more than once, and a constant would give the same numbers each time"
)
_SEED_BYTES = 8  # of its state, the first
_ENTROPY_BITS = 53  # of the seeds that torch takes from the system


class TorchCpu(TorchRng):
    """Initial weights, dropout, shuffling and the seeds of DataLoader workers, unseeded."""

    id = "torch-cpu"
    gives = re.compile(
        r"torch\.(rand|randn|randint|randperm|normal|bernoulli|multinomial|rand_like|randn_like|randint_like|poisson|seed|initial_seed)"
        r"|torch\.nn\.init\..*|.*\.(normal_|uniform_|bernoulli_|random_|exponential_)"
    )
    summary = "torch's CPU generator (initial weights, dropout, shuffling, worker seeds) has no fixed seed"
    advice = "import torch; torch.manual_seed(0)"
    seeded_by = ("torch.manual_seed",)
    studied_as = Label(8, "torch's CPU generator, for all else: splits, generators that the script makes")
    save_lines = ("torch.get_rng_state()", "torch.set_rng_state({})")
    lost = Label(3, "torch's next draws on the CPU would be others: an epoch's order, worker seeds, dropout")

    def generators(self) -> Sequence[torch.Generator]:
        """The one default generator."""
        import torch

        return (torch.default_generator,)

    def reseed(self, seed: int) -> None:
        """Seed the CPU's generator and no other device's."""
        import torch

        torch.default_generator.manual_seed(seed)

    def reseed_later(self, seed: int) -> None:
        """With the seed that it says it has: what is made of that is the same before and after a resume."""
        import torch

        generator = torch.default_generator
        named = generator.get_state()[:_SEED_BYTES]
        state = torch.Generator().manual_seed(seed).get_state()
        state[:_SEED_BYTES] = named
        generator.set_state(state)

    def locate(self) -> MersenneState | None:
        """By the words of its state."""
        import torch

        return read_torch_state(torch.default_generator.get_state())

    def mark(self) -> int | None:
        """The same, without a copy of the words."""
        import torch

        return mark_torch_state(torch.default_generator.get_state())

    def control(self, control: Control) -> Undo | None:
        """Seed it, and make `Generator.seed()`, which `torch.seed()` calls, take its seed from a stream."""
        import torch

        undo_seed = super().control(control)
        assert undo_seed is not None
        unseeded = UnseededStreams(control.seed, self.id)
        kind: Any = torch._C.Generator

        def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if len(args) != 1 or kwargs:
                return original(*args, **kwargs)  # which says what is wrong
            value = unseeded.stream().seed64 >> 64 - _ENTROPY_BITS
            args[0].manual_seed(value)
            note_given(value)
            return value

        return undo_all([undo_seed, wrap_attribute(kind, "seed", seed), resumed.watch_optimizers()])

    def replay(self, answers: Answers) -> Undo | None:
        """Its first state, and what `Generator.seed()` takes from the system."""
        import torch

        kind: Any = torch._C.Generator

        def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if len(args) != 1 or kwargs:
                return original(*args, **kwargs)  # which says what is wrong
            drawn = False

            def real() -> Any:
                nonlocal drawn
                drawn = True
                return original(*args)

            value = answers.ask(self.id, "torch.seed", real, find_site() or "")
            if not drawn:  # a recorded one: it has not seeded itself
                args[0].manual_seed(value)
            return value

        undos = [super().replay(answers), wrap_attribute(kind, "seed", seed)]
        return undo_all([undo for undo in undos if undo is not None])

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another seed, and others for what the script seeds torch and its own generators with."""
        import torch

        undo_seed = super().vary(value, took)
        assert undo_seed is not None

        def manual_seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            given = _SEED.of(args, kwargs)
            if given is not MISSING:
                args, kwargs = _SEED.put(args, kwargs, seeding_calls.mix_seed(value, self.id, given))
            return original(*args, **kwargs)

        generator = _make_varied_generator(value, self.id)
        undos = [_wrap_torch("manual_seed", manual_seed), replace(torch, "Generator", generator)]
        return undo_all([undo_seed, *undos])

    def recognise(self, difference: Difference) -> Evidence | None:
        """As of any generator; of one that took its seed from the system, of whatever device, its line."""
        origin = difference.origin
        own = difference.a.rows("unseeded", _OWN_SEED_OF_SYSTEM)
        if own and origin is not None and origin.own_generator and origin.generator_differs:
            site = own[-1].call_site
            text = f"{origin.op} drew from a generator that took its seed from the system, at {site}"
            return Evidence(self.id, Strength.STRONG, text, site, _advise_own(difference.a, own))
        found = super().recognise(difference)
        seeds = difference.a.rows("seed", "torch.manual_seed")
        alike = seeds and _rows.find_first_differing(difference, "seed", "torch.manual_seed") is None
        if (
            found is not None and own and origin is None and alike
        ):  # in a result, of which no operation is known
            text = "a generator of the script's own took its seed from the system"
            advice = _advise_own(difference.a, own)
            return Evidence(self.id, found.strength, text, own[-1].call_site, advice)
        return found

    def observe(self, journal: Journal) -> Undo | None:
        """Note each `manual_seed`; as unseeded `torch.seed()`, and a look at the seed before that."""
        import torch

        kind: Any = torch._C.Generator
        note_own = seeding_calls.note_own_seeds(journal, "torch.Generator.manual_seed")
        seeded = False

        def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            journal.note("unseeded", self.id, user_only=True)
            return original(*args, **kwargs)

        def is_seeded() -> bool:
            nonlocal seeded
            seeded = True
            return True

        def initial_seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not seeded:
                journal.note("unseeded", self.id, detail="looked at", user_only=True)
            return original(*args, **kwargs)

        def own_seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            note_own(_OWN_SEED.of(args, kwargs, None))
            return original(*args, **kwargs)

        def own_unseeded(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if SELF.of(args, kwargs, None) is not torch.default_generator:
                journal.note("unseeded", _OWN_SEED_OF_SYSTEM, user_only=True)
            return original(*args, **kwargs)

        undos = [_wrap_torch("seed", seed), _wrap_torch("initial_seed", initial_seed)]
        undos.append(wrap_attribute(kind, "manual_seed", own_seed))
        undos.append(wrap_attribute(kind, "seed", own_unseeded))
        noted = seeding_calls.note_given(journal, "torch.manual_seed", torch, is_seeded, [torch.random])
        return undo_all([*undos, noted])


def _advise_own(side: Side, rows: Sequence[Row]) -> str:
    """For the last of these generators; another way where its line ran again, or may."""
    from samerun.editing.edit import NoEdit
    from samerun.editing.run_counts import runs_once

    code, site = _rows.read_code(side), rows[-1].call_site
    if code is None or sum(row.call_site == site for row in rows) > 1:
        return _OWN_ADVICE if code is None else _OWN_OF_EACH
    try:
        file, calls = code.calls(site)
    except NoEdit:
        return _OWN_ADVICE
    return _OWN_ADVICE if all(runs_once(code, file, call) for call in calls) else _OWN_OF_EACH


def _make_varied_generator(value: int, id_: str) -> Any:
    """torch.Generator, except that it is seeded with others than the numbers that it is given."""
    import torch

    original: Any = torch.Generator

    def seeded(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = _OWN_SEED.of(args, kwargs)
        if given is not MISSING and not callsite.is_samerun(callsite.find_caller(2)):
            args, kwargs = _OWN_SEED.put(args, kwargs, seeding_calls.mix_seed(value, id_, given))
        return call(*args, **kwargs)

    return stand_in(original, {"manual_seed": wrap(original.manual_seed, seeded)})


def _wrap_torch(name: str, hook: Around) -> Undo:
    import torch

    return wrap_attribute(torch, name, hook, [torch.random])
