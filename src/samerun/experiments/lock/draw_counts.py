"""How many numbers a run drew from each generator: from the places at which it was between two steps.

Recording writes a mark of each place, and a whole state where a count begins (recording/rng_states.py). Here
the generator is run from one to the next: an MT19937 hands out one word after the other, so the words between
are those that were drawn. What was drawn inside a step and put back does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from samerun.comparing.pairing import RecordedRun
from samerun.mersenne import WORDS, MersenneState
from samerun.runs.reading import Trace
from samerun.runs.schema import SEEDED

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DRAWS = "draws"  # the quantity
_MOST_BLOCKS = 1 << 19  # of 624 words between two places: a second or two
_CHUNKS = (1, 15, 240, 4096)  # blocks that are made at a time, the last again and again


def count_draws(recorded: RecordedRun) -> dict[str, int]:
    """By source id, the 32-bit words that all ranks drew from each generator that can be counted.

    One is left out where a place is not reached from the one before: somebody put another state there, or
    seeded it too often to be recorded.
    """
    found: dict[str, int] = {}
    lost: set[str] = set()
    for trace in recorded.compared:
        for id_, count in _count_in(trace).items():
            if count is None:
                lost.add(id_)
            else:
                found[id_] = found.get(id_, 0) + count
    return {id_: count for id_, count in sorted(found.items()) if count and id_ not in lost}


def describe_counts(before: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    """What was drawn more often or less, in words."""
    return [
        f"{id_} gave {now[id_]:,} numbers, and {before[id_]:,} when locked"
        for id_ in sorted(before.keys() & now.keys())
        if before[id_] != now[id_]
    ]


def _count_in(trace: Trace) -> dict[str, int | None]:
    """None for a generator whose place was lost."""
    found: dict[str, int | None] = {}
    walks: dict[str, _Walk] = {}
    mask = trace.is_one_of("what", {"rng", "state"})
    for row, parts in zip(trace.rows(mask), trace.parts(mask), strict=True):
        id_ = row.name or ""
        before = found.get(id_, 0)
        if (row.what == "state" and row.detail != SEEDED) or before is None:
            continue
        walk = walks.get(id_)
        begins = None if parts is None else MersenneState.unpack(parts)
        if walk is not None and row.inputs is not None:
            drawn = walk.advance(row.inputs)
        else:
            drawn = None if begins is None else 0
        found[id_] = None if drawn is None else before + drawn
        if begins is not None:
            walks[id_] = _Walk(begins)
    return found


class _Walk:
    """One generator, run from place to place."""

    def __init__(self, begins: MersenneState) -> None:
        import numpy as np

        self._words = np.frombuffer(begins.words, "<u4")
        self._position = begins.position

    def advance(self, mark: int) -> int | None:
        """The words between here and the place of this mark; None where that is not ahead."""
        wanted, position = mark & (1 << 54) - 1, mark >> 54
        if self._is_marked(wanted) and position >= self._position:
            drawn = position - self._position
        else:
            blocks = self._find_block(wanted)
            if blocks is None:
                return None
            drawn = WORDS * blocks - self._position + position
        self._position = position
        return drawn

    def _is_marked(self, wanted: int) -> bool:
        """Whether the words are those that a mark, less its position, is of."""
        return MersenneState(self._words[:2].tobytes(), 0).mark == wanted

    def _find_block(self, wanted: int) -> int | None:
        """After how many times 624 words come the ones of this mark; they are taken then."""
        import numpy as np

        bits, done = _make_bits(self._words), 0
        first = _temper(wanted & 0xFFFFFFFF)
        while done < _MOST_BLOCKS:
            count = next((size for size in _CHUNKS if size > done), _CHUNKS[-1])
            before = bits.state["state"]["key"]
            heads = bits.random_raw(WORDS * count)[::WORDS]
            for at in np.flatnonzero(heads == first).tolist():
                there = _make_bits(before)
                there.random_raw(WORDS * (at + 1), output=False)
                self._words = there.state["state"]["key"]
                if self._is_marked(wanted):
                    return int(done + at + 1)
            done += count
        return None


def _make_bits(words: npt.NDArray[np.uint32]) -> Any:
    """A generator that has handed out all of these words."""
    import numpy as np

    bits: Any = np.random.MT19937(0)
    bits.state = {"bit_generator": "MT19937", "state": {"key": words, "pos": WORDS}}
    return bits


def _temper(word: int) -> int:
    """The number that MT19937 hands out for a word (Matsumoto and Nishimura 1998)."""
    word ^= word >> 11
    word ^= word << 7 & 0x9D2C5680
    word ^= word << 15 & 0xEFC60000
    return word ^ word >> 18
