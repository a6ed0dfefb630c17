"""The `random` module's global generator: https://docs.python.org/3/library/random.html."""

from __future__ import annotations

import _random
import ctypes
import functools
import inspect
import os
import random
import re
import struct
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from samerun import lineage, wrapping
from samerun.answers import Answers, find_site
from samerun.digest import digest_bytes
from samerun.mersenne import MersenneState
from samerun.runs.plan import Control
from samerun.runs.schema import SEEDED, SEEDING
from samerun.sources.base.library_seeds import find_library_seed
from samerun.sources.base.rng import Rng
from samerun.sources.patching import resumed, seeding_calls
from samerun.sources.patching.unseeded_generators import UnseededStreams
from samerun.sources.per_sample import own_generators, seeder
from samerun.sources.source import Journal, Label, Undo
from samerun.streams import stream_seed

_urandom = os.urandom  # as it is before anybody replaces it
_ENTROPY_BYTES = 32
_pack = struct.Struct("625I")
_NAME_FILES = ("tempfile", "datasets.fingerprint")


class PythonRandom(Rng):
    """`random.random()`, `random.shuffle()` and their like, unseeded."""

    id = "python-random"
    gives = re.compile(r"random\.(?!SystemRandom).*")
    summary = "Python's `random` module draws from a generator that starts anew in each process"
    advice = "import random; random.seed(0)"
    mended_by = "random.seed"
    seeded_by = ("random.seed",)
    studied_as = Label(5, "Python's random, outside of samples")
    save_lines = ("random.getstate()", "random.setstate({})")
    lost = Label(1, "the next draws from `random` would be others: shuffles, augmentations")
    feeds = frozenset({"data", "setup"})
    begins_in_forks = True

    def capture(self) -> Any:
        """What `random.getstate()` gives."""
        return random.getstate()

    def restore(self, state: Any) -> None:
        """As `random.setstate`."""
        version, internal, gauss = state
        own_generators.write(random._inst, (version, tuple(internal), gauss))

    def reseed(self, seed: int) -> None:
        """Seed the global generator, past every observer."""
        _random.Random.seed(random._inst, seed)
        random._inst.gauss_next = None  # type: ignore[attr-defined]

    def digest(self) -> bytes:
        """Of the 624 words, the position and the kept normal variate."""
        gauss = random._inst.gauss_next  # type: ignore[attr-defined]
        return digest_bytes(_read_words(), "" if gauss is None else gauss.hex())

    def locate(self) -> MersenneState | None:
        """By its words."""
        words = _read_words()
        if sys.byteorder != "little":
            return None
        return MersenneState(words[:-4], int.from_bytes(words[-4:], "little"))

    def control(self, control: Control) -> Undo | None:
        """Seed it, also in children, and give `random.seed()` without a seed one from the stream."""
        undo_seed = super().control(control)
        assert undo_seed is not None
        unseeded = UnseededStreams(control.seed, self.id)

        def seed(original: Callable[..., None], self_: random.Random, a: Any, version: int) -> None:
            if self_ is random._inst and a is None:
                a = unseeded.stream().seed64
                seeder.note_begun(self.id)
            elif self_ is random._inst:
                self.give()
            original(self_, a, version)

        return wrapping.undo_all(
            [undo_seed, self._in_children(control.seed), patch_seed(seed), self._see_states()]
        )

    def _see_states(self) -> Undo:
        """See that the script reads the state, and puts one back."""

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if wrapping.SELF.of(args, kwargs, None) is random._inst:
                self.see_read()
            return original(*args, **kwargs)

        def put_back(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            original(*args, **kwargs)
            if wrapping.SELF.of(args, kwargs, None) is random._inst:
                self.give_back()

        undos = []
        for name, hook in ("getstate", read), ("setstate", put_back):
            undos.append(wrapping.wrap_attribute(random.Random, name, hook))
            undos.append(wrapping.replace(random, name, getattr(random._inst, name)))
        return wrapping.undo_all(undos)

    def replay(self, answers: Answers) -> Undo | None:
        """Its first state, and each seed that the system gives it: at a fork, and by `random.seed()`."""

        def in_child() -> None:
            self.reseed(answers.ask(self.id, "fork", draw_seed))

        def seed(original: Callable[..., None], self_: random.Random, a: Any, version: int) -> None:
            if a is None and self_ is random._inst:
                given = answers.ask(self.id, "random.seed", draw_seed, find_site() or "")
                a = seeding_calls.SystemSeed(given)
            original(self_, a, version)

        undos = [super().replay(answers), lineage.call_in_each_child(in_child), patch_seed(seed)]
        return wrapping.undo_all([undo for undo in undos if undo is not None])

    def _in_children(self, seed: int) -> Undo:
        """After a fork too: Python itself then seeds it anew, from the system's entropy."""

        def reseed() -> None:
            self.reseed(stream_seed(seed, self.id, *resumed.get_path(), *lineage.get_path()))
            seeder.note_begun(self.id)

        return lineage.call_in_each_child(reseed)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another seed, and others for what the script seeds the global generator with."""
        undo_seed = super().vary(value, took)
        assert undo_seed is not None

        def seed(original: Callable[..., None], self_: random.Random, a: Any, version: int) -> None:
            original(
                self_, seeding_calls.mix_seed(value, self.id, a) if self_ is random._inst else a, version
            )

        return wrapping.undo_all([undo_seed, self._in_children(value), patch_seed(seed)])

    def observe(self, journal: Journal) -> Undo | None:
        """Note each seeding, and each generator made or seeded without a seed."""
        note_own = seeding_calls.note_own_seeds(journal, "random.Random")

        def seed(original: Callable[..., None], self_: random.Random, a: Any, version: int) -> None:
            shared = self_ is random._inst
            if seeding_calls.is_of_system(a):
                if not names_files():
                    journal.note("unseeded", self.id if shared else "os-entropy", user_only=True)
            elif shared:
                journal.seeds(self.id, SEEDING)
                seeding_calls.note_seed(journal, "random.seed", a)
            elif (library := find_library_seed()) is not None:
                journal.note("unseeded", "os-entropy", at=library)
            else:
                note_own(a)
            original(self_, a, version)
            if shared:
                journal.seeds(self.id, SEEDED)

        return patch_seed(seed)


def draw_seed() -> int:
    """A seed of the system's, as Python takes one."""
    return int.from_bytes(_urandom(_ENTROPY_BYTES), "little")


def patch_seed(call: Callable[[Callable[..., None], random.Random, Any, int], None]) -> Undo:
    """Put `call(original, generator, a, version)` in the place of `Random.seed`, `random.seed` included."""
    wrapping.hide_frames(call)
    signature = inspect.signature(random.Random.seed)

    def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return original(*args, **kwargs)  # which says what is wrong
        given.apply_defaults()
        return call(original, *given.args)

    method = wrapping.wrap_attribute(random.Random, "seed", seed)
    # the module's function is a method bound when random was imported: bind it anew
    function = wrapping.replace(random, "seed", random._inst.seed)
    return wrapping.undo_all([method, function])


def _read_words() -> bytes:
    """The 624 words, and the position, as they lie in memory."""
    offset = _find_offset()
    if offset is None:
        return _pack.pack(*random.getstate()[1])
    # In place: getstate() makes an object of each word, at ten times the cost.
    state = ctypes.string_at(id(random._inst) + offset, _pack.size)
    return state[4:] + state[:4]  # the position comes first


@functools.cache
def _find_offset() -> int | None:
    """Where a Random keeps its position and its words, found in one of our own; None when it is not."""
    mine = _random.Random(0)
    _random.Random.random(mine)
    *words, position = _random.Random.getstate(mine)
    raw = ctypes.string_at(id(mine), _random.Random.__basicsize__)
    found = raw.find(_pack.pack(position, *words))
    return found if found > 0 else None


def names_files() -> bool:
    """Whether a module makes the generator that names files by it: the names must be others in each process.

    Of Hugging Face's datasets it names the cache of what has no fingerprint: with the same name again, the
    next run would take what the run before has left there.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "random" and not module.startswith("samerun."):
            return module in _NAME_FILES
        frame = frame.f_back
    return False
