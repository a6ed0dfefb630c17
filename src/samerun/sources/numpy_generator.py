"""NumPy generators made without a seed: https://numpy.org/doc/stable/reference/random/generator.html."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samerun import callsite
from samerun.answers import Answers, find_site
from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Row, Side, Strength
from samerun.runs.plan import Control
from samerun.sources.edits import library_calls
from samerun.sources.evidence import rows as _rows
from samerun.sources.patching import attribute, seeding_calls
from samerun.sources.patching.unseeded_generators import UnseededStreams, note_given
from samerun.sources.source import Journal, Kind, Label, Settings, Source, Undo, Variant
from samerun.wrapping import MISSING, Around, Parameter, stand_in, wrap_attribute

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

_SEED = Parameter("seed", 0)  # of default_rng and RandomState
# of Gymnasium's or Gym's
_ENVIRONMENT = re.compile(r"(?P<name>[\w.]+)\.reset\(\s*\)|(?P<space>[\w.]+_space)\.sample\(")
_ONCE = "  # once, after the environment is made: later resets go on from there"
_FOR_EACH = "; another number for each environment"
_EACH_CALL = (
    "({seed})  # with torch seeded: the line may run more than once, and a constant would give the same "
    "numbers each time"
)
_SEED_OF_EACH = "torch.randint(2**31, ()).item()"
OF_LIBRARY = (
    "a seed in what you give the library (seed=0, random_state=0, .reset(seed=0)): it makes a generator "
    "without one"
)
_MAKES = re.compile(r"default_rng|RandomState|PCG64|MT19937|Philox|SFC64|SeedSequence|(np|numpy)\.random")
_BY_TASK = "seed it with the number of its task: np.random.default_rng((0, number))"


class NumpyGenerator(Source):
    """`default_rng()`, `RandomState()`, `SeedSequence()` and bit generators, made without a seed.

    All take their entropy from one name in numpy's compiled module: `randbits`, put there by
    `from secrets import randbits`. A numpy without it is left alone.
    """

    id = "numpy-generator"
    gives = re.compile(
        r"numpy\.random\.(default_rng|RandomState|Generator|SeedSequence|_generator|bit_generator).*"
    )
    summary = "a NumPy generator made without a seed starts from the operating system's entropy"
    advice = "rng = np.random.default_rng(0)"
    kind = Kind.RNG
    studied_as = Label(7, "NumPy generators that the script makes")
    modes = ("seeded", "strict", "warn")
    hooks_into = "numpy.random"

    def control(self, control: Control) -> Undo | None:
        """Take the entropy from a stream of (line of code, how many were made there before, process)."""
        unseeded = UnseededStreams(control.seed, self.id)
        number = Parameter("k", 0)

        def randbits(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            k = number.of(args, kwargs, None)
            if len(args) + len(kwargs) != 1 or not isinstance(k, int) or k < 0:
                return original(*args, **kwargs)
            value = unseeded.stream().python().getrandbits(k)
            note_given(value)
            return value

        return patch_randbits(randbits)

    def replay(self, answers: Answers) -> Undo | None:
        """The entropy that each is made of."""

        def randbits(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return answers.ask(self.id, "randbits", lambda: original(*args, **kwargs), find_site() or "")

        return patch_randbits(randbits)

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Other seeds for those made without one, and for those that the script seeds with a number."""
        import numpy

        def other(seed: Any) -> Any:
            took()
            return (
                seeding_calls.mix_seed(value, self.id, seed)
                if isinstance(seed, (int, numpy.integer))
                else seed
            )

        unseeded = self.control(Control(seed=value))
        undos = [unseeded] if unseeded is not None else []
        return attribute.undo_all([*undos, *_patch_seeded(other)])

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Other seeds."""
        return [Variant("other seeds", 4242, likely=0.9)]

    def observe(self, journal: Journal) -> Undo | None:
        """Note each generator made without a seed, and the seeds of `default_rng`.

        A RandomState makes its bit generator without one, also where it then seeds it. So does a copy, which
        then has the state of the other.
        """
        import numpy
        from numpy.random import mtrand

        of_state = threading.local()
        note_seed = seeding_calls.note_own_seeds(journal, "np.random.default_rng")

        def randbits(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not getattr(of_state, "making", False) and not _is_copied():
                journal.note("unseeded", self.id, user_only=True)
            with journal.unheard():  # it reads entropy, as it is said just now
                return original(*args, **kwargs)

        def made(original: Callable[[], Any]) -> Any:
            of_state.making = True
            try:
                bits = original()
            finally:
                of_state.making = False
            with journal.held_back(unless=lambda: bits._seed_seq is None):
                journal.note("unseeded", self.id, user_only=True)
            return bits

        def rng(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            note_seed(_SEED.of(args, kwargs, None))
            return original(*args, **kwargs)

        # samerun makes none itself, but the ledger of draws stands between where operations are recorded
        undos = [patch_randbits(randbits), wrap_attribute(numpy.random, "default_rng", rng)]
        legacy: Any = vars(mtrand).get("_MT19937")
        if legacy is not None:
            undos.append(attribute.replace(mtrand, "_MT19937", _make_class(made, legacy)))
        return attribute.undo_all([undo for undo in undos if undo is not None])

    def recognise(self, difference: Difference) -> Evidence | None:
        """One was made before the difference, and no operation of equal inputs explains it.

        It may have seeded the generator that such an operation draws from, or chosen how much is drawn.
        """
        origin, seed = difference.origin, _rows.find_first_differing(difference, "seed")
        if origin is not None and origin.inputs_equal and not origin.draws:
            return None
        # np.random.seed() without a seed makes one for the global generator
        globals_ = {row.call_site for row in difference.a.rows("unseeded", "numpy-global")}
        rows = [row for row in difference.a.rows("unseeded", self.id) if row.call_site not in globals_]
        if not rows:
            return None
        last = rows[-1]
        others = [id_ for id_, step in difference.rng_first.items() if step <= difference.step]
        strength = Strength.PLAUSIBLE if any(id_ in difference.drawn for id_ in others) else Strength.STRONG
        if origin is not None and origin.draws and origin.generator_differs and not seed:
            strength = Strength.POSSIBLE  # that generator alone may be the reason
        text = f"a generator was made without a seed at {last.call_site or 'an unknown line'}"
        line = _rows.read_source_line(difference.a, last.call_site)
        text = f"{text}: {line}" if line else text
        if _is_made_by_task([row for row in rows if row.call_site == last.call_site]):
            text = f"{text} (in a pool of processes, for each task: which of them gets one is not fixed)"
            return Evidence(self.id, strength, text, last.call_site, _BY_TASK, beyond_control=True)
        here = [row for row in rows if row.call_site == last.call_site]
        again = _is_run_again(here) or _may_run_again(difference.a, last)
        return Evidence(self.id, strength, text, last.call_site, _advise_for(line, again=again))

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """A seed for each that was made without one."""
        from samerun.sources.edits import numpy_generators

        edits = numpy_generators.seed_generators(difference, code)
        if not edits:
            raise NoEdit(self.advice)
        return edits


def _is_copied() -> bool:
    """Whether NumPy makes a generator to give it the state of another."""
    frame = callsite.find_caller()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("samerun."):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "numpy.random._pickle"


def _patch_seeded(other: Callable[[Any], Any]) -> list[Undo]:
    """Give default_rng and RandomState another seed than the one that they are called with."""
    import numpy

    state: Any = numpy.random.RandomState

    def rng(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if (given := _SEED.of(args, kwargs)) is not MISSING:
            args, kwargs = _SEED.put(args, kwargs, other(given))
        return original(*args, **kwargs)

    def init(self: Any, /, *args: Any, **kwargs: Any) -> None:
        if not callsite.is_samerun(callsite.find_caller()):
            args, kwargs = _SEED.put(args, kwargs, _shorten_seed(other(_SEED.of(args, kwargs, None))))
        state.__init__(self, *args, **kwargs)

    def reduce(self: Any) -> Any:
        return state.__reduce__(self)

    names = {"__init__": init, "__reduce__": reduce}

    return [
        attribute.patch_for_others(numpy.random, "default_rng", rng),
        attribute.replace(numpy.random, "RandomState", stand_in(state, names)),
    ]


def _advise_for(line: str, *, again: bool) -> str:
    """What seeds the generator, the environment or the study that a line makes or uses."""
    if library_calls.DRAWS.search(line):
        return library_calls.ADVICE
    drawn = _ENVIRONMENT.search(line)
    if drawn is None and line and not _MAKES.search(line):
        return OF_LIBRARY
    if drawn is None:
        made = "np.random.RandomState" if "RandomState" in line else "np.random.default_rng"
        return f"{made}{_EACH_CALL.format(seed=_SEED_OF_EACH)}" if again else f"rng = {made}(0)"
    number = "number" if again else "0"
    seeds = f"{drawn['space']}.seed({number})" if drawn["space"] else f"{drawn['name']}.reset(seed={number})"
    return f"{seeds}{_ONCE}{_FOR_EACH if again else ''}"


def _is_run_again(rows: Sequence[Row]) -> bool:
    """Whether a line ran more than once, or in more than one process: one constant would make them alike."""
    made = Counter(row.process for row in rows)
    return len(made) > 1 or max(made.values()) > 1 or any(".worker" in process for process in made)


def _may_run_again(side: Side, row: Row) -> bool:
    """Whether the line is in a function that is called more than once, by the code: it ran once by then."""
    from samerun.editing.run_counts import runs_once
    from samerun.sources.edits import numpy_generators

    code = _rows.read_code(side)
    if code is None:
        return False
    try:
        file, calls = numpy_generators.find_makers(code, row)
    except NoEdit:
        return False
    return not all(runs_once(code, file, call) for call in calls)


def _is_made_by_task(rows: Sequence[Row]) -> bool:
    """Whether several processes beside the training each made some: a pool hands out tasks as they end."""
    made = Counter(row.process for row in rows if _rows.is_in_helper(row))
    return len(made) > 1 and max(made.values()) > 1


def _shorten_seed(seed: Any) -> Any:
    """A number of 64 bits as the list that RandomState takes."""
    return [seed & 0xFFFFFFFF, seed >> 32] if isinstance(seed, int) and seed >> 32 else seed


def _make_class(make: Callable[[Any], Any], kind: type) -> type:
    """A class whose instances are those of `kind`; without an argument they are made by `make(kind)`."""

    def new(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
        return kind(*args, **kwargs) if args or kwargs else make(kind)

    made: type = stand_in(kind, {"__new__": new})
    return made


def patch_randbits(call: Around) -> Undo | None:
    """Have it make the calls of what gives NumPy its entropy; None where there is no such."""
    import numpy.random.bit_generator as module

    if "randbits" not in vars(module):
        return None
    return wrap_attribute(module, "randbits", call)
