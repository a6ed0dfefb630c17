"""The one interface of the catalogue."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control, Mode

if TYPE_CHECKING:
    from samerun.answers import Answers
    from samerun.editing.user_program import Code

Undo = Callable[[], None]
Settings = Mapping[str, Mapping[str, Any]]  # source id to what it said of itself in a run


class Kind(str, Enum):
    """What a source is, by what differs; the value stands in JSON."""

    RNG = "rng"  # random numbers: a generator's state, or where its seed comes from
    ORDER = "order"  # in which the same things come
    KERNEL = "kernel"  # which implementation of an operation runs, and whether it repeats
    MEMORY = "memory"  # what lies in memory, and where
    NUMERICS = "numerics"  # how the same sum is rounded: threads, precision, instructions, sizes
    WORLD = "world"  # what the system around the process gives: clocks, names, files, load
    PROVENANCE = "provenance"  # what was run: code, arguments, packages, machine


class Label(NamedTuple):
    """What a verb calls a source in a list of its own."""

    at: int  # where it stands in that list
    text: str


@dataclass(frozen=True)
class Variant:
    """One way in which `samerun vary` changes a source. Whatever is left at its default does nothing."""

    label: str  # for people: "2 threads"
    value: Any = None  # plain JSON, given to `Source.vary` in each process; None: it is not called
    environment: Mapping[str, str] = field(default_factory=dict)  # variables at start-up
    expects: Mapping[str, Any] = field(default_factory=dict)  # what the source must then say of itself
    likely: float = 0.2  # how often trainings depend on it, roughly: the likely ones are tried first
    runs: float = 1.0  # how long such a run takes, in runs that are left alone
    compares: Literal["everything", "weights"] = "everything"  # weights: what is called changes by design
    acts: bool = False  # there is always something to act on: a run in which it does not is not understood
    scratch: bool = False  # run in a copy of the working directory
    around: Callable[[], AbstractContextManager[None]] | None = None  # entered while the command runs
    rewrite: Callable[[tuple[str, ...]], tuple[str, ...]] | None = None  # the command, changed


class Journal(Protocol):
    """Where an observed source writes its evidence, inside the process that trains."""

    def note(
        self,
        what: str,
        name: str,
        *,
        digest: bytes | None = None,
        inputs: int | None = None,
        value: float | None = None,
        detail: str | None = None,
        user_only: bool = False,
        at: str | None = None,
    ) -> None:
        """Write one evidence record (a word of runs.schema.EVIDENCE).

        The call site is found by walking up from the caller to the user's code. With `user_only`, nothing
        is written when the call came from a library's own machinery; `at` is the line to name instead.
        """

    def held_back(self, unless: Callable[[], bool]) -> AbstractContextManager[None]:
        """What is noted in it is written a little later, and dropped where `unless` is true by then."""

    def seeds(self, generator: str, moment: str) -> None:
        """Write the states of the RNGs whose ids begin so, which the script is about to seed or has seeded.

        `moment` is runs.schema.SEEDING or SEEDED.
        """

    def unheard(self) -> AbstractContextManager[None]:
        """While what happens is no evidence: an observed call's own doings, which it was noted for."""

    def from_user(self) -> bool:
        """Whether the call being observed was made by the user's code (see `user_only`)."""


class Source(ABC):
    """One thing that can make two runs differ.

    A subclass sets the class variables and overrides what applies to it; what it leaves alone does nothing.
    """

    id: ClassVar[str]
    summary: ClassVar[str]  # one line for people
    advice: ClassVar[str]  # the lines of code that control it in a user's script
    kind: ClassVar[Kind]
    modes: ClassVar[tuple[Mode, ...]] = ()  # the modes that control it; () and controllable: on request alone
    controllable: ClassVar[bool] = True  # False: there is no control, and `advice` says what can be done
    cannot_mend: ClassVar[str] = ""  # why no edit of the code mends it, and what does; "": `advice` says it
    edits_may_fall_short: ClassVar[bool] = False  # where they do not help, it may be the reason yet
    hooks_into: ClassVar[str] = ""  # the module after whose import it acts; "": at the start of the process
    also_hooks_into: ClassVar[tuple[str, ...]] = ()  # after each of these it is called once more
    # A library call may come too late for it; unless it was asked for by name, that may be a warning alone.
    when_late: ClassVar[Literal["error", "warn"]] = "error"
    of_workers: ClassVar[bool] = (
        False  # acts on DataLoaders: `seed_everything(workers=False)` leaves it alone
    )
    fills: ClassVar[bool] = False  # `Control.fill` asks for it
    in_folder: ClassVar[bool] = False  # it is in the working directory: a fresh copy of that controls it
    in_own_code: ClassVar[bool] = (
        False  # its control holds there alone: libraries go on reading the real value
    )
    reaches_all: ClassVar[bool] = False  # where its control does not help, an edit that does is another's
    # Each operation recorded makes it so slow that it seldom happens: whole runs at tier steps confirm it.
    hides: ClassVar[bool] = False
    evidence: ClassVar[str] = ""  # the rows (a word of runs.schema.EVIDENCE) that say that the script uses it
    # the functions, by their qualified names, whose values are others because of it
    gives: ClassVar[re.Pattern[str] | None] = None
    variables: ClassVar[
        tuple[str, ...]
    ] = ()  # of the environment, that it recognises: `environment` does not
    must_agree: ClassVar[tuple[str, ...]] = ()  # what of `describe` two runs of equal bits have in common
    unsettled_by: ClassVar[
        tuple[Variant, ...]
    ] = ()  # may come about in any run: further ones of `check` try it
    side_effect: ClassVar[str] = (
        ""  # what else is another under its control, where it is not asked for lightly
    )
    price: ClassVar[Label | None] = None  # its control, in `cost`; None: it acts once, which no step shows
    buys: ClassVar[str] = ""  # what that control is good for, where it is not the bits
    studied_as: ClassVar[Label | None] = None  # what its seed decides, in `study`; None: it has none to vary

    def is_controlled_in(self, mode: Mode) -> bool:
        """Whether a mode controls it; `portable` controls all that `strict` does."""
        return mode in self.modes or (mode == "portable" and "strict" in self.modes)

    def is_controlled_by(self, control: Control | None) -> bool:
        """Whether a control takes hold of it.

        None and mode `off` control nothing; `only` is exactly these; else the mode's own, `extra`, and with
        `fill` what that asks for.
        """
        if control is None or control.mode == "off":
            return False
        if control.only is not None:
            return self.id in control.only
        filled = self.fills and bool(control.fill)
        return filled or self.id in control.extra or self.is_controlled_in(control.mode)

    def is_beyond_control(self, use: str) -> bool:
        """Whether its control leaves a use of it alone; `use` is the name of a row of its evidence."""
        return not self.controllable

    # before the process starts
    def environment(self, control: Control) -> Mapping[str, str]:
        """Variables that must exist when the process starts.

        Raises UsageError when the user's own value contradicts the control.
        """
        return {}

    # inside the process that trains
    def in_play(self) -> bool:
        """Whether it is used here at all (numpy imported, CUDA there, …)."""
        return True

    def control(self, control: Control) -> Undo | None:
        """Make it repeatable in this process, from here on; return what puts it back as it was.

        Called once `hooks_into` is imported. Raises TooLate when it can no longer take effect. The undo runs
        once the variables of `environment` are put back.
        """
        return None

    def observe(self, journal: Journal) -> Undo | None:
        """Record its use without changing anything; return what takes the hooks out again.

        Called once `hooks_into` is imported, before `control`.
        """
        return None

    def replay(self, answers: Answers) -> Undo | None:
        """Keep what it gives to this process; where a recorded run is replayed, give what it gave there.

        Called once `hooks_into` is imported, where it is not controlled. Returns what ends it.
        """
        return None

    @classmethod
    def can_replay(cls) -> bool:
        """Whether what it gave can be given again."""
        return cls.replay is not Source.replay

    def digest(self) -> bytes | None:
        """The digest (16 bytes) of its state now, or None when it has none."""
        return None

    def describe(self) -> Mapping[str, Any]:
        """What it says of itself now, for the manifest and `samerun env`: plain JSON values."""
        return {}

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Change it on purpose in this process, as the variant's `value` says; return what undoes that.

        Called once `hooks_into` is imported, after every control. Calls `took` when the change first had
        something to act on: without it, the source counts as not in play.
        """
        return None

    # about runs
    def variants(self, settings: Settings) -> Sequence[Variant]:
        """What `vary` tries, given what each source said of itself in a run that is left alone."""
        return ()

    def has_price_in(self, settings: Settings) -> bool:
        """Whether its `price` can be more than nothing, given what each source said of itself in a run."""
        return True

    def recognise(self, difference: Difference) -> Evidence | None:
        """Whether it caused this first difference, and how one can tell."""
        return None

    def advise(self, function: str) -> str | None:
        """What to do where this function, by its qualified name, gave another value; None: `advice` holds."""
        return None

    def is_plain_in(self, difference: Difference) -> bool:
        """Whether what `recognise` finds in a difference is plain without the operations before it."""
        return False

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """The fewest edits of the user's code that make it repeatable, as the cause of this difference.

        `site` is the line that its evidence names. Raises NoEdit, which says why and what to do instead, when
        no edit does.
        """
        raise NoEdit(self.cannot_mend or self.advice)
