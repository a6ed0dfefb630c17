"""NumPy's legacy global generator: https://numpy.org/doc/stable/reference/random/legacy.html."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import struct
import sys
from collections.abc import Callable
from typing import Any

from samerun.answers import Answers, find_site
from samerun.digest import digest_bytes
from samerun.errors import StateError, UsageError
from samerun.mersenne import MersenneState
from samerun.runs.plan import Control
from samerun.runs.schema import SEEDED, SEEDING
from samerun.sources.base.rng import Rng
from samerun.sources.patching import seeding_calls
from samerun.sources.patching.unseeded_generators import UnseededStreams
from samerun.sources.per_sample import own_generators, seeder
from samerun.sources.source import Journal, Label, Undo
from samerun.wrapping import Parameter, undo_all, wrap_attribute

_SEED = Parameter("seed", 0)
_WORDS = struct.Struct("<4I")  # of the system's entropy
_urandom = os.urandom  # as it is before anybody replaces it
_MT19937_BYTES = 624 * 4 + 4  # key and position, as in numpy's s_mt19937_state


class NumpyGlobal(Rng):
    """`np.random.rand()`, `np.random.shuffle()` and their like, unseeded."""

    id = "numpy-global"
    gives = re.compile(
        r"numpy\.random\.(?!default_rng|RandomState|Generator|SeedSequence|_generator|bit_generator).*"
    )
    summary = "NumPy's global functions (np.random.rand, …) draw from a generator that no one seeded"
    advice = "import numpy as np; np.random.seed(0)"
    hooks_into = "numpy.random"
    mended_by = "numpy.random.seed"
    seeded_by = ("np.random.seed",)
    studied_as = Label(6, "np.random, outside of samples: splits, for example")
    save_lines = ("numpy.random.get_state()", "numpy.random.set_state({})")
    lost = Label(2, "the next draws from `np.random` would be others: augmentations")
    feeds = frozenset({"data", "setup"})

    def in_play(self) -> bool:
        """Whether numpy.random is imported."""
        return "numpy.random" in sys.modules

    def capture(self) -> Any:
        """The bit generator's state, and the kept normal variate, as numbers and lists."""
        import numpy

        state = numpy.random.get_state(legacy=False)
        return _make_plain(state)

    def restore(self, state: Any) -> None:
        """Put back what `capture` gave."""
        import numpy

        legacy = numpy.random.mtrand._rand
        name = state["bit_generator"]
        if name != type(legacy._bit_generator).__name__:  # somebody set another meanwhile
            kind = getattr(numpy.random, name, None)
            if not (isinstance(kind, type) and issubclass(kind, numpy.random.BitGenerator)):
                raise StateError(f"numpy has no bit generator {name!r}; set it before the state is restored")
            numpy.random.mtrand.set_bit_generator(kind())
        own_generators.write(legacy, state)

    def reseed(self, seed: int) -> None:
        """Seed with both halves of the 64 bits, past every observer."""
        import numpy

        numpy.random.mtrand._rand.seed([seed & 0xFFFFFFFF, seed >> 32])

    def reseed_as_users(self, seed: int) -> None:
        """As `np.random.seed(seed)`."""
        import numpy

        if seed >> 32:
            raise UsageError(f"numpy takes no seed above 2**32 - 1, and it is {seed}: leave `compatible` out")
        numpy.random.mtrand._rand.seed(seed)

    def digest(self) -> bytes:
        """Of the key, the position and the kept normal variate."""
        return _find_reader()()

    def locate(self) -> MersenneState | None:
        """By its key, where that can be read in place."""
        return _find_reader().locate()

    def control(self, control: Control) -> Undo | None:
        """Seed it, and give `np.random.seed()` without a seed one from the stream."""
        import numpy

        undo_seed = super().control(control)
        assert undo_seed is not None
        unseeded = UnseededStreams(control.seed, self.id)

        def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if _SEED.of(args, kwargs, None) is None:
                value = unseeded.stream().seed64
                args, kwargs = _SEED.put(args, kwargs, [value & 0xFFFFFFFF, value >> 32])
                seeder.note_begun(self.id)
            else:
                self.give()
            return original(*args, **kwargs)

        def read(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            self.see_read()
            return original(*args, **kwargs)

        def put_back(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            original(*args, **kwargs)
            self.give_back()

        seen = [("seed", seed), ("get_state", read), ("set_state", put_back)]
        return undo_all([undo_seed, *(wrap_attribute(numpy.random, name, hook) for name, hook in seen)])

    def replay(self, answers: Answers) -> Undo | None:
        """Its first state, and each seed that the system gives it by `np.random.seed()`."""
        import numpy

        def draw() -> list[int]:
            return list(_WORDS.unpack(_urandom(_WORDS.size)))

        def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if _SEED.of(args, kwargs, None) is None:
                words = answers.ask(self.id, "np.random.seed", draw, find_site() or "")
                args, kwargs = _SEED.put(args, kwargs, seeding_calls.SystemWords(words))
            return original(*args, **kwargs)

        undos = [super().replay(answers), wrap_attribute(numpy.random, "seed", seed)]
        return undo_all([undo for undo in undos if undo is not None])

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Another seed, and others for what the script seeds it with."""
        import numpy

        undo_seed = super().vary(value, took)
        assert undo_seed is not None

        def seed(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            other = seeding_calls.mix_seed(value, self.id, _SEED.of(args, kwargs, None))
            args, kwargs = _SEED.put(args, kwargs, [other & 0xFFFFFFFF, other >> 32])
            return original(*args, **kwargs)

        return undo_all([undo_seed, wrap_attribute(numpy.random, "seed", seed)])

    def observe(self, journal: Journal) -> Undo | None:
        """Note each seeding; one without a seed as unseeded."""
        import numpy

        def hook(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            seed = _SEED.of(args, kwargs, None)
            if by_system := seeding_calls.is_of_system(seed):
                journal.note("unseeded", self.id, user_only=True)
            else:
                journal.seeds(self.id, SEEDING)
                seeding_calls.note_seed(journal, "np.random.seed", seed)
            result = original(*args, **kwargs)
            if not by_system:
                journal.seeds(self.id, SEEDED)
            return result

        return wrap_attribute(numpy.random, "seed", hook)


def _make_plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _make_plain(value) for name, value in state.items()}
    return state.tolist() if hasattr(state, "tolist") else state


def _find_reader() -> _Reader:
    """Of the generator as it is now: it can be replaced."""
    import numpy

    rand = numpy.random.mtrand._rand
    bits = rand._bit_generator
    read = _readers.get(id(bits))
    if read is None or read.bits is not bits or read.rand is not rand:
        _readers.clear()
        read = _readers[id(bits)] = _Reader(rand, bits)
    return read


_readers: dict[int, _Reader] = {}


class _Reader:
    """Reads one global generator's state, in place where its layout in memory could be verified.

    get_state() copies it word by word, at ten times the cost.
    """

    def __init__(self, rand: Any, bits: Any) -> None:
        self.bits = bits
        self.rand = rand
        self._words: Any = None
        offset = _find_gauss_offset() if type(bits).__name__ == "MT19937" else None
        if offset is not None:
            self._words = (ctypes.c_char * _MT19937_BYTES).from_address(bits.ctypes.state_address)
            # has_gauss (an int, padded) and gauss (a double)
            self._flag = ctypes.c_int.from_address(id(rand) + offset - 8)
            self._gauss = ctypes.c_double.from_address(id(rand) + offset)

    def __call__(self) -> bytes:
        if self._words is None:
            return digest_bytes(repr(_make_plain(self.rand.get_state(legacy=False))).encode())
        return digest_bytes(self._words, self._gauss.value.hex() if self._flag.value else "")

    def locate(self) -> MersenneState | None:
        if self._words is None or sys.byteorder != "little":
            return None
        raw = self._words.raw
        return MersenneState(raw[:-4], int.from_bytes(raw[-4:], "little"))


@functools.cache
def _find_gauss_offset() -> int | None:
    """Where a RandomState keeps its spare normal variate, found in one of our own; None when it is not."""
    import numpy

    mine = numpy.random.RandomState(0)
    size = type(mine).__basicsize__
    raw = (ctypes.c_char * size).from_address(id(mine))
    mine.standard_normal()
    state = mine.get_state(legacy=False)
    found = raw.raw.find(bytes(ctypes.c_double(state["gauss"])))
    if found < 8 or found % 8:
        return None
    flag = ctypes.c_int.from_address(id(mine) + found - 8)
    was_set = flag.value == state["has_gauss"] == 1
    mine.standard_normal()
    return found if was_set and flag.value == 0 else None
