"""The state of an MT19937 generator from all 64 bits of a seed.

python, numpy and torch's CPU generator are all MT19937. torch seeds its own from the low 32 bits of the seed
alone (at::mt19937 takes no more), so that among 10**6 seeds about a hundred pairs share a generator; numpy
does so for every seed that fits in an integer. Here two words of the 624 at a time are `factor * seed mod
2**64` (multiply-shift hashing, Dietzfelbinger et al. 1997), with factors of its own for each library; the
lower half, weaker by itself, is crossed with the upper. A seed is itself a hash (samerun.streams), so words
of different seeds are unrelated.

MT19937 hands out its words one by one, tempered, and makes 624 new ones when they are used up. Making them
costs as much as a few draws, and a sample draws a few: so the state starts with its last FRESH words still
to be handed out, and those are multiplied and crossed once more, to be independent as they are.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from samerun.errors import SamerunError

if TYPE_CHECKING:
    import torch

WORDS = 624
LIBRARIES = ("python", "numpy", "torch")
FOR_ZERO = 0x9E3779B97F4A7C15  # stands in for 0: zero times anything is the one state MT19937 cannot leave
FRESH = 64
POSITION = WORDS - FRESH
_AGAIN = 0xBF58476D1CE4E5B9  # the first multiplier of SplitMix64 (Steele, Lea and Flood 2014)
_MARKED_BITS = 22  # of the second word: with the first and a position, 64
_STATE_AT = 24  # bytes before the words in torch's state: the seed, `left` and `seeded`, and `next`


class MersenneState(NamedTuple):
    """Where a generator is: its words, 624 of 32 bits, low bytes first, and how many it handed out."""

    words: bytes
    position: int  # 0 to 624

    @property
    def mark(self) -> int:
        """64 bits by which it is known again."""
        first, second = struct.unpack_from("<2I", self.words)
        return _make_mark(first, second, self.position)

    def pack(self) -> bytes:
        """The words, then the position."""
        return self.words + struct.pack("<H", self.position)

    @classmethod
    def unpack(cls, packed: bytes) -> MersenneState | None:
        """What `pack` made; None for anything else."""
        if len(packed) != 4 * WORDS + 2:
            return None
        position = int.from_bytes(packed[-2:], "little")
        return cls(packed[:-2], position) if position <= WORDS else None


@functools.cache
def compute_factors() -> Any:
    """Odd numbers, uint64 (3, 312): a row for each library, a number for two words."""
    import numpy

    # Raw output of PCG64 is fixed by its definition, whatever becomes of numpy's distributions.
    drawn = numpy.random.PCG64(20261121).random_raw(len(LIBRARIES) * WORDS // 2)
    return (drawn | numpy.uint64(1)).reshape(len(LIBRARIES), WORDS // 2)


class Words:
    """Makes the words of up to n seeds at a time, in a buffer that others read.

    Written for the first call after much other code: each operation on arrays then costs as much as several
    samples' words, so there are few, and their views are made beforehand.
    """

    def __init__(self, buffer: Any, libraries: Sequence[str] = LIBRARIES) -> None:
        """In `buffer`, uint64 (n, 3, 312): a number is two words, as they lie on little-endian machines.

        `libraries` says whose are where along its second axis.
        """
        import numpy

        self._multiply, self._cross = numpy.multiply, numpy.bitwise_xor
        self._factors = compute_factors()[[LIBRARIES.index(library) for library in libraries]]
        self._again = numpy.uint64(_AGAIN)
        self.seeds: Any = numpy.empty(len(buffer), numpy.uint64)
        self.words = buffer.view(numpy.uint32)  # (n, 3, 624)
        column, fresh = self.seeds[:, None, None], buffer[:, :, POSITION // 2 :]
        self._views = (
            column,
            buffer,
            *_split_halves(self.words),
            fresh,
            *_split_halves(fresh.view(numpy.uint32)),
        )

    def make(self, seeds: Sequence[int], apart: Sequence[int] | Sequence[Sequence[int]] = ()) -> None:
        """Fill `words`, uint32 (n, 3, 624), and `seeds`, uint64 (n,), for the first len(seeds) of n.

        `apart`: 64 bits for each library that are mixed into its seeds, for all seeds or for each of them; 0
        leaves them as they are.
        """
        k = len(seeds)
        struct.pack_into(
            f"={k}Q", self.seeds, 0, *([seed or FOR_ZERO for seed in seeds] if 0 in seeds else seeds)
        )
        views = self._views if k == len(self.seeds) else [view[:k] for view in self._views]
        column, products, low, high, fresh, fresh_low, fresh_high = views
        if apart:
            column = self._cross(column, self._as_column(apart))
        self._multiply(self._factors, column, products)
        self._cross(low, high, low)
        self._multiply(fresh, self._again, fresh)
        self._cross(fresh_low, fresh_high, fresh_low)

    @staticmethod
    def _as_column(numbers: Sequence[int] | Sequence[Sequence[int]]) -> Any:
        import numpy

        return numpy.array(numbers, numpy.uint64).reshape(-1, len(LIBRARIES), 1)


def _split_halves(words: Any) -> tuple[Any, Any]:
    """The lower halves of the products, the upper halves."""
    return words[:, :, 0::2], words[:, :, 1::2]


def make_torch_state(seed: int, words: Any) -> torch.Tensor:
    """What torch's `set_state` takes, for a seed and its words, (624,): uint8 (5056,)."""
    import numpy
    import torch

    state: torch.Tensor = torch.Generator().manual_seed(1).get_state()
    raw = state.numpy()
    left, following = raw[8:12].view(numpy.int32), raw[16:24].view(numpy.uint64)
    kept = raw[_STATE_AT : _STATE_AT + 8 * WORDS].view(numpy.uint64)
    # as torch leaves them after seeding, and the first two words of init_genrand(1)
    if [left[0], following[0], *kept[:2]] != [1, 0, 1, 1812433254]:
        raise SamerunError(
            f"torch {torch.__version__} keeps its CPU generator's state in a layout this samerun does "
            "not know; please report it; samerun is tested with torch 2.13"
        )
    raw[:8].view(numpy.uint64)[:] = seed
    left[:], following[:] = FRESH + 1, POSITION
    kept[:] = words
    return state


def read_torch_state(state: torch.Tensor) -> MersenneState | None:
    """What `make_torch_state` makes, taken apart; None for a layout that is not known here."""
    import numpy

    raw = state.numpy()
    position = _find_torch_position(raw)
    if position is None:
        return None
    words = raw[_STATE_AT : _STATE_AT + 8 * WORDS].view(numpy.uint64)
    return MersenneState(words.astype("<u4").tobytes(), position)


def mark_torch_state(state: torch.Tensor) -> int | None:
    """The mark of what `read_torch_state` gives, at a third of the cost."""
    raw: Any = state.numpy()
    position = _find_torch_position(raw)
    if position is None:
        return None
    first, second = struct.unpack_from("=2Q", raw, _STATE_AT)
    return _make_mark(first, second, position)


def _find_torch_position(raw: Any) -> int | None:
    if len(raw) < _STATE_AT + 8 * WORDS:
        return None
    left, following = struct.unpack_from("=ixxxxQ", raw, 8)
    position: int = WORDS if left == 1 else following
    return position if 0 < left <= WORDS and position + left == WORDS + 1 else None


def _make_mark(first: int, second: int, position: int) -> int:
    """Of the first word, a part of the second, and the position."""
    return first | (second & (1 << _MARKED_BITS) - 1) << 32 | position << 54


def make_torch_generator(seed: int) -> torch.Generator:
    """A new CPU generator of torch from all 64 bits of the seed, which is also its initial_seed()."""
    import numpy
    import torch

    words = Words(numpy.empty((1, len(LIBRARIES), WORDS // 2), numpy.uint64))
    words.make([seed])
    generator = torch.Generator()
    generator.set_state(make_torch_state(seed, words.words[0, LIBRARIES.index("torch")]))
    return generator
