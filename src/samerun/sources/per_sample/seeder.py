"""The three generators that datasets draw from, seeded and swapped together, fast and unseen by observers.

Seeding happens before every sample, so it must cost little beside the sample, whose own code has emptied the
caches: what counts is how much memory and how much code is touched. The words of all three states for a batch
come from a few operations on arrays (samerun.mersenne); before a sample, its own are read from there, as from
a file, into where each generator keeps its state (samerun.sources.per_sample.state_memory).
"""

from __future__ import annotations

import functools
import io
import random
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from samerun import lineage
from samerun.mersenne import FRESH, POSITION, WORDS, Words
from samerun.sources.per_sample import state_memory
from samerun.sources.per_sample.begun_states import Begun
from samerun.sources.per_sample.state_memory import NORMAL, NUMPY, PYTHON, TORCH, Place
from samerun.streams import Name, stream_seed

State = Any
Keep = Callable[[], None]
_AT_ONCE = 64  # seeds whose words are made together: more calls for fewer, more memory for more


# What is read for a seed: torch's state, python's, numpy's normal (none) twice, numpy's, a gap. So all words
# lie equally far apart, which arrays take quickest; the 4 bytes before the first row align them.
_ORDER = "torch", "python", "numpy"
_GAP = 8
_ROW = TORCH + PYTHON + 2 * NORMAL + NUMPY + _GAP
_BEFORE = 4
_TORCH_WORDS = 20
_SIGNED = 2**63 - 1  # a worker's seed fits into a signed integer: programs put it in a tensor


class _Rows:
    """The states of a few seeds, one after the other, to be read into the generators."""

    def __init__(self) -> None:
        import numpy

        self._stream = io.BytesIO(bytes(_BEFORE + _AT_ONCE * _ROW))
        self.read_into = self._stream.readinto
        self.gap = bytearray(_GAP)
        buffer = self._stream.getbuffer()

        def field(at: int, kind: type[Any]) -> Any:
            return numpy.ndarray((_AT_ONCE,), kind, buffer, _BEFORE + at, (_ROW,))

        self._initial_seed = field(0, numpy.uint64)  # of torch, which counts what is left; it is seeded
        field(8, numpy.int32)[:], field(12, numpy.uint32)[:] = FRESH + 1, 1
        for at in (16, TORCH, _ROW - _GAP - 4):
            field(at, numpy.uint32)[:] = POSITION
        shape, strides = (_AT_ONCE, len(_ORDER), WORDS // 2), (_ROW, _ROW // len(_ORDER), 8)
        begin = _BEFORE + _TORCH_WORDS
        self._words = Words(numpy.ndarray(shape, numpy.uint64, buffer, begin, strides), _ORDER)

    def fill(self, seeds: Sequence[int], apart: Sequence[int] | Sequence[Sequence[int]]) -> None:
        """Make the states of up to _AT_ONCE seeds, to be read from the first on."""
        self._words.make(seeds, apart)
        self._initial_seed[:] = self._words.seeds & _SIGNED  # as torch's own seeds of workers
        self._stream.seek(_BEFORE)


class _SampleSeed:
    """The seed of what is being made here, and how often entropy was asked for in making it."""

    seed: int | None = None
    asked = 0


_making = _SampleSeed()
IDS = ("torch-cpu", "python-random", "numpy-global")  # the sources that they are
_SWAPPED = {"python": "python-random", "numpy": "numpy-global"}  # those that torch's seed does not reach
_given: set[str] = set()  # ids of the sources that the script has seeded, under a control
_seedings: dict[str, int] = dict.fromkeys(IDS, 0)  # under a control, with a seed or without
_began: dict[str, lineage.Path] = {}  # the place of the process in which a controlled generator began
_passes: dict[str, int] = dict.fromkeys(IDS, 0)  # of each generator: passes of loaders since it was seeded
# States that the script read, each time after so many passes in all: seeded then, passes since.
_read: dict[tuple[str, bytes], dict[int, tuple[bool, int]]] = {}
_put_back: dict[str, dict[int, tuple[bool, int]]] = {}  # of generators since the last pass: their readings
_at = 0  # how many passes have begun in all
_MOST_READ = 1000  # the oldest is forgotten


class Apart(NamedTuple):
    """What is mixed into the seeds of samples; 0 leaves them as they are."""

    words: tuple[int, ...]  # of each generator, in the order of their words; () for none
    entropy: int
    begun: Begun | None = None  # in a worker that the script's own worker_init_fn has seeded


TOGETHER = Apart((), 0)


Others = Sequence[tuple[int, int]]  # for each seed, which is torch's: python's, numpy's


def _mix_rows(seeds: Sequence[int], others: Others, words: Sequence[int]) -> list[list[int]]:
    """What makes each seed that of each generator, in the order of their words."""
    rows = ((0, seed ^ python, seed ^ numpy) for seed, (python, numpy) in zip(seeds, others, strict=False))
    return [[one ^ other for one, other in zip(row, words or (0, 0, 0), strict=True)] for row in rows]


def stay_together() -> Apart:
    """What a loader says that was given its seed."""
    return TOGETHER


class _Seeder:
    """Writes the states of one seed after the other into the generators of this process."""

    def __init__(self) -> None:
        import torch

        self._free: list[_Rows] = []
        self._python = state_memory.find_python()
        self._torch = state_memory.find_torch(torch.default_generator)
        self._legacy: Any = None
        self._bits: Any = None

    def each(
        self, seeds: Sequence[int], apart: Apart, keep: Keep | None, others: Others | None
    ) -> Iterator[int]:
        """Give each seed when the generators have been seeded with it, and with what keeps them apart."""
        from numpy.random import mtrand

        making, inner, entropy = _making, random._inst, apart.entropy
        torchs, pythons = self._torch.live, self._python.live
        (numpys, normal), legacy, bits, unset = self._numpy_now(mtrand)
        # Rows for each call that is under way: a sample may load others, and threads may load.
        made = self._free.pop() if self._free else _Rows()
        read_into, gap = made.read_into, made.gap
        try:
            for begin in range(0, len(seeds), _AT_ONCE):
                some = seeds[begin : begin + _AT_ONCE]
                made.fill(
                    some, apart.words if others is None else _mix_rows(some, others[begin:], apart.words)
                )
                if keep is not None and not begin:
                    keep()
                for seed in some:
                    if legacy._bit_generator is not bits:
                        (numpys, normal), legacy, bits, unset = self._numpy_now(mtrand)
                    read_into(torchs)
                    read_into(pythons)
                    read_into(normal)
                    read_into(normal)
                    read_into(numpys)
                    read_into(gap)
                    inner.gauss_next = None  # type: ignore[attr-defined]
                    for set_state in unset:
                        set_state()
                    making.seed, making.asked = seed ^ entropy, 0
                    yield seed
        finally:
            self._free.append(made)

    def _numpy_now(self, mtrand: Any) -> tuple[tuple[Any, Any], Any, Any, list[Callable[[], None]]]:
        """numpy's memories, what they belong to, and what sets the states that are not in memory."""
        words, normal = self.numpy(mtrand)
        ways = (place.written for place in (self._torch, self._python, words))
        return (words.live, normal.live), self._legacy, self._bits, [way for way in ways if way is not None]

    def numpy(self, mtrand: Any) -> tuple[Place, Place]:
        """Where numpy's legacy generator is: found again when somebody gave it other bits."""
        legacy = mtrand._rand
        if legacy is not self._legacy or legacy._bit_generator is not self._bits:
            self._legacy, self._bits = legacy, legacy._bit_generator
            self._numpy = state_memory.find_numpy(legacy)
        return self._numpy

    def places(self) -> list[Place]:
        """Of all generators there are; numpy's are not before numpy.random is imported."""
        mtrand = sys.modules.get("numpy.random.mtrand")
        return [self._python, self._torch, *(self.numpy(mtrand) if mtrand else ())]

    def places_of(self, generator: str) -> list[Place]:
        """Of the one that this source is."""
        python, torch, *numpys = self.places()
        return {"python-random": [python], "torch-cpu": [torch]}.get(generator, numpys)


@functools.cache
def _get_seeder() -> _Seeder:
    return _Seeder()


def draw_entropy() -> int | None:
    """64 bits, new ones each time, for a generator without a seed that a keyed sample makes; else None."""
    if _making.seed is None:
        return None
    _making.asked += 1
    return stream_seed(_making.seed, "entropy", _making.asked)


def begin(seed: int) -> None:
    """What is made from here on, until the next, is a task of this seed."""
    _making.seed, _making.asked = seed, 0


def is_making() -> bool:
    """Whether a sample, or a task, is being made here."""
    return _making.seed is not None


def make_seed(*path: Name, of: int | None = None) -> int:
    """63 bits for what has this name, where a sample or a task is being made; or of another seed than its."""
    seed = _making.seed if of is None else of
    assert seed is not None
    return stream_seed(seed, *path) & _SIGNED


def leave_sample() -> None:
    """In a process that was forked while a keyed sample was being made: it makes nothing of that sample."""
    _making.seed = None


def note_given(generator: str) -> None:
    """The script has seeded this generator, known by its source's id: its numbers are the script's now."""
    _given.add(generator)
    _seedings[generator] = _seedings.get(generator, 0) + 1
    _passes[generator] = 0
    _put_back.pop(generator, None)


def note_begun(generator: str) -> None:
    """This generator begins here, and nobody has seeded it; what is forked from here goes on with it."""
    _given.discard(generator)
    _seedings[generator] = _seedings.get(generator, 0) + 1
    _began[generator] = lineage.get_launched_path()
    _passes[generator] = 0
    _put_back.pop(generator, None)


def note_read(generator: str, state: bytes) -> None:
    """The script has read this state (its digest), and may put it back."""
    if len(_read) >= _MOST_READ:
        _read.pop(next(iter(_read)), None)
    _read.setdefault((generator, state), {})[_at] = generator in _given, _passes.get(generator, 0)


def note_put_back(generator: str, state: bytes) -> None:
    """The script has put this state back: it is whose it was when this process read it.

    Of a state that another process has read, as of a checkpoint, nothing is known: that changes nothing.

    Samples do not move Python's and NumPy's generators under control, so a state that was read after each of
    several passes is one and the same. Torch's moves with each pass: put back beside them, it says which.
    """
    _put_back[generator] = _read.get((generator, state)) or {_at: (generator in _given, 0)}
    of_torch = _put_back.get(IDS[0], {})
    for each, readings in _put_back.items():
        last = next(reversed(readings))
        both = [at for at in of_torch if at in readings]
        given, _passes[each] = readings[both[-1] if both else last]
        (_given.add if given else _given.discard)(each)


def get_origins() -> tuple[frozenset[str], dict[str, int]]:
    """Which generators the script has seeded, and the passes since then: what belongs to their states."""
    return frozenset(_given), dict(_passes)


def put_origins(origins: tuple[frozenset[str], dict[str, int]]) -> None:
    """Put back what `get_origins` gave, with the states of then."""
    given, passes = origins
    if _given != given:
        _given.clear()
        _given.update(given)
    _passes.update(passes)


def count_seedings() -> dict[str, int]:
    """How often each generator was seeded, by the script or where it asked for new numbers."""
    return dict(_seedings)


def find_seeded_since(counts: Mapping[str, int]) -> frozenset[str]:
    """The generators that were seeded since `count_seedings` gave these."""
    return frozenset(each for each in IDS if _seedings[each] != counts[each])


def read_states(generators: Collection[str]) -> State:
    """The states of these generators alone, for `write_states`."""
    gauss = random._inst.gauss_next  # type: ignore[attr-defined]
    return [(place, place.read()) for each in generators for place in _get_seeder().places_of(each)], gauss


def write_states(generators: Collection[str], state: State) -> None:
    """Put back what `read_states` gave for them."""
    kept, gauss = state
    if "python-random" in generators:
        random._inst.gauss_next = gauss  # type: ignore[attr-defined]
    for place, was in kept:
        place.restore(was)


def may_swap() -> bool:
    """Whether this thread may put other states into the generators, and the earlier ones back later.

    They are the process's, and the main thread trains with them: what it draws meanwhile would come again.
    """
    return threading.get_ident() == threading.main_thread().ident


def find_apart() -> Apart:
    """What keeps this process's samples apart from those of others whose loaders draw the same base seeds.

    They do where the script seeds torch alike in each (an ensemble with equal first weights). Of generators
    that it did not seed, and of entropy: in the plain program each process has other numbers from these, and
    torch's are alike. So are those of a generator that a forked child has from its parent. Nothing in the
    first process of a command.
    """
    here: tuple[Name, ...] = lineage.get_launched_path()
    if _making.seed is not None:  # a task of a pool: any of its processes may get it
        here = ("task", _making.seed)
    if not here:
        return TOGETHER
    words = (_mix(source, here) if source else 0 for source in map(_SWAPPED.get, _ORDER))
    return Apart(tuple(words), stream_seed(0, "apart", "entropy", *here))


def _mix(source: str, here: tuple[Name, ...]) -> int:
    began = here if _making.seed is not None else _began.get(source, here)
    return 0 if source in _given or not began else stream_seed(0, "apart", source, *began)


def note_pass() -> None:
    """A loader goes over its data in this process: the plain program would draw from all three for it."""
    global _at
    _at += 1
    _put_back.clear()
    for generator in IDS:
        _passes[generator] += 1


def find_places() -> tuple[tuple[str, int, int], ...]:
    """Where each generator, in the order of IDS, is among all numbers that the plain program would draw.

    Its name, a number for its state, and the passes of loaders since it was seeded, whose samples would have
    moved it on. Two places that are equal give the same numbers.
    """
    states = map(hash, _read_each())
    return tuple((name, state, _passes[name]) for name, state in zip(IDS, states, strict=True))


def digest_states() -> tuple[int, ...]:
    """64 bits for the state of each of torch's, Python's and NumPy's, alike in every process; none is 0."""
    from samerun.digest import digest_bytes

    return tuple(int.from_bytes(digest_bytes(read)[:8], "little") or 1 for read in _read_each())


def _read_each() -> list[bytes]:
    """The states, in the order of IDS."""
    import torch

    # torch's memory also holds what is left of normals that do not count any more
    python, _, *numpy = (place.read() for place in _get_seeder().places())
    reads = (torch.default_generator.get_state().numpy().tobytes(), python, numpy)
    return [read if type(read) is bytes else repr(read).encode() for read in reads]


def seed_all(
    seed: int, apart: Apart = TOGETHER, keep: Keep | None = None, others: Others | None = None
) -> None:
    """Seed python's, numpy's legacy and torch's CPU generator with 64 bits; see `seed_with_each`."""
    next(_get_seeder().each((seed,), apart, keep, others))


def seed_with_each(
    seeds: Sequence[int], apart: Apart = TOGETHER, keep: Keep | None = None, others: Others | None = None
) -> Iterator[int]:
    """Give each seed when the generators have been seeded with it: cheaper than `seed_all` one by one.

    `keep` is called just before the first is written, and may `capture` the states to be put back. `others`
    are the seeds of python's and numpy's where they are not torch's.
    """
    return _get_seeder().each(seeds, apart, keep, others)


def capture() -> State:
    """Their states, and whether the script seeded them, for `restore` in this process."""
    rest = _making.seed, _making.asked, get_origins()
    # The states last: what another thread draws between here and the first sample's comes again.
    gauss = random._inst.gauss_next  # type: ignore[attr-defined]
    return [(place, place.read()) for place in _get_seeder().places()], gauss, *rest


def restore(state: State) -> None:
    """Put back what `capture` gave."""
    kept, gauss, _making.seed, _making.asked, origins = state
    random._inst.gauss_next = gauss  # type: ignore[attr-defined]
    put_origins(origins)  # what a sample seeds ends with it
    for place, was in kept:
        place.restore(was)
