"""The state of an MT19937 generator from all 64 bits of a seed.

python, numpy and torch's CPU generator are all MT19937. torch seeds its own from the low 32 bits of the seed
alone (at::mt19937 takes no more), so that among 10**6 seeds about a hundred pairs share a generator; numpy
does so for every seed that fits in an integer. Here each of the 624 words of the state is the upper half of
`factor * seed mod 2**64` (multiply-shift hashing, Dietzfelbinger et al. 1997), with factors of its own for
each library. A seed is itself a hash (samerun.streams), so words of different seeds are unrelated.

MT19937 hands out its words one by one, tempered, and makes 624 new ones when they are used up. Making them
costs as much as a few draws, and a sample draws a few: so the state starts with its last FRESH words still
to be handed out, and those go through the finalizer of SplitMix64 (Steele, Lea and Flood 2014) to be
independent as they are.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from samerun.errors import SamerunError

if TYPE_CHECKING:
    import torch

WORDS = 624
LIBRARIES = ("python", "numpy", "torch")
FOR_ZERO = 0x9E3779B97F4A7C15  # stands in for 0: zero times anything is the one state MT19937 cannot leave
FRESH = 64
POSITION = WORDS - FRESH
_STATE_AT = 24  # bytes before the words in torch's state: the seed, `left` and `seeded`, and `next`


@functools.cache
def factors() -> Any:
    """Odd numbers, uint64 (3, 624): a row for each library."""
    import numpy

    # Raw output of PCG64 is fixed by its definition, whatever becomes of numpy's distributions.
    drawn = numpy.random.PCG64(20261121).random_raw(len(LIBRARIES) * WORDS)
    return (drawn | numpy.uint64(1)).reshape(len(LIBRARIES), WORDS)


def fill(seeds: Any, out: Any) -> Any:
    """The states of seeds, uint64 (n,), below 2**64: uint64 (n, 3, 624), each word in the upper half.

    `out` is a buffer of that shape; what is returned are its words, as a view of uint32.
    """
    import numpy

    seeds = numpy.where(seeds == 0, numpy.uint64(FOR_ZERO), seeds)
    numpy.multiply(factors(), seeds[:, None, None], out=out)
    fresh = out[:, :, POSITION:]
    fresh ^= fresh >> numpy.uint64(30)
    fresh *= numpy.uint64(0xBF58476D1CE4E5B9)
    fresh ^= fresh >> numpy.uint64(27)
    fresh *= numpy.uint64(0x94D049BB133111EB)
    return out.view(numpy.uint32)[:, :, 1::2]  # the upper halves on little-endian machines, as torch needs


class TorchStates:
    """The states of n CPU generators as torch takes them: uint8 (n, 5056), a row each in `states`."""

    def __init__(self, n: int) -> None:
        import numpy
        import torch

        one: torch.Tensor = torch.Generator().manual_seed(1).get_state()
        raw = numpy.tile(one.numpy(), (n, 1))
        left, following = raw[:, 8:12].view(numpy.int32), raw[:, 16:24].view(numpy.uint64)
        self._seeds = raw[:, :8].view(numpy.uint64)[:, 0]
        self._words = raw[:, _STATE_AT : _STATE_AT + 8 * WORDS].view(numpy.uint64)
        # as torch leaves them after seeding, and the first two words of init_genrand(1)
        if [left[0, 0], following[0, 0], *self._words[0, :2]] != [1, 0, 1, 1812433254]:
            raise SamerunError(
                f"torch {torch.__version__} keeps its CPU generator's state in a layout this samerun does "
                "not know; please report it; samerun is tested with torch 2.13"
            )
        left[:], following[:] = FRESH + 1, POSITION
        # Each with a storage of its own: set_state() crashes on a tensor that begins inside one (torch 2.13).
        self.states = [torch.from_numpy(row) for row in raw]

    def fill(self, seeds: Any, words: Any) -> None:
        """Write seeds, uint64 (k,), and their words, (k, 624), into the first k states."""
        self._seeds[: len(seeds)] = seeds
        self._words[: len(seeds)] = words


def torch_generator(seed: int) -> torch.Generator:
    """A new CPU generator of torch from all 64 bits of the seed, which is also its initial_seed()."""
    import numpy
    import torch

    seeds, made = numpy.array([seed], numpy.uint64), TorchStates(1)
    words = fill(seeds, numpy.empty((1, len(LIBRARIES), WORDS), numpy.uint64))
    made.fill(seeds, words[:, LIBRARIES.index("torch")])
    generator = torch.Generator()
    generator.set_state(made.states[0])
    return generator
