"""A first difference and what surrounds it: the plain values that comparing hands to the sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

Kind = Literal[
    "value",  # the same record, other bytes
    "order",  # the same records of a kind, in another order
    "flow",  # a record that only one of the runs has
    "ended",  # one of the runs stopped early
]


@dataclass(frozen=True)
class Row:
    """One record as a plain value (columns as in runs/schema.py)."""

    step: int
    phase: str
    what: str
    name: str | None = None
    module: str | None = None
    call_site: str | None = None
    digest: bytes | None = None
    inputs: int | None = None
    value: float | None = None
    flags: int = 0
    detail: str | None = None
    process: str = "rank0"  # the stem of the trace it comes from, e.g. "rank0" or "rank0.worker1"


@dataclass(frozen=True)
class Side:
    """What one of the two runs says of itself, up to the first difference.

    `settings` maps a source id to what it describes of itself (the latest before the difference);
    `evidence` holds the rows of EVIDENCE up to the difference, of every process of that rank,
    workers included. `argv` is the command line of the process where they part, interpreter first, and
    `variables` maps each variable that was set between the start of the command and its own to a digest.
    `programs` maps the names of those that the command ran and that do not train to their command lines.
    `elsewhere` holds the "written" rows of processes of the other ranks, to the end of the run. `beside` maps
    the ids of generators to how many other processes of its script draw from one that they do not seed.
    """

    manifest: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    evidence: tuple[Row, ...] = ()
    argv: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    elsewhere: tuple[Row, ...] = ()
    beside: Mapping[str, int] = field(default_factory=dict)

    def rows(self, what: str, name: str | None = None) -> list[Row]:
        """The evidence of one kind, and of one name where given, in order."""
        return [row for row in self.evidence if row.what == what and (name is None or row.name == name)]


@dataclass(frozen=True)
class Origin:
    """The operation whose inputs are equal and whose outputs are not."""

    op: str
    module: str | None
    call_site: str | None
    phase: str
    inputs_equal: bool
    draws: bool  # it draws random numbers
    generator_differs: bool | None  # its generator's state differed before it ran; None: not known
    reads_uninitialized: bool
    first_of_process: bool  # the first operation of this name in its process
    own_generator: bool = False  # it draws from a generator object that the script made
    generator: str | None = None  # the source that it draws from, where the record says so
    made_at: str | None = None  # the line that allocated the uninitialized memory, where the record says so

    @property
    def draws_other_size(self) -> bool:
        """Whether it draws another number of values, or others, from a generator in the same state."""
        return self.draws and self.inputs_equal and self.generator_differs is False

    @property
    def makes_it(self) -> bool:
        """Whether the operation itself made what differs: from equal inputs, and not of another size."""
        return self.inputs_equal and not self.draws_other_size


@dataclass(frozen=True)
class Gap:
    """Memory that was written past torch: by NumPy, a pointer, DLPack, an extension or another thread.

    That happened after `seen_by` last found it as it was, and before `met_by` read it.
    """

    met_by: str  # an operation, or the kind of record: "gradients", "parameters", …
    met_at: str | None
    seen_by: str | None = None  # None: what it held before is not known
    seen_at: str | None = None
    written_by: str | None = None  # the last operation that put it out or wrote to it, as torch knows
    written_at: str | None = None
    tensor: str | None = None  # what the model or the optimizer calls it, where it does
    run: Literal["a", "b"] | None = None  # the only run that has it; None: both have


@dataclass(frozen=True)
class LaterDifference:
    """A place after the first difference where the runs part anew, not because they had before.

    `kind`: "origin": an operation of equal inputs and other outputs · "rng": the same, which drew from a
    generator whose state differs · "gap": it read memory that was written past torch ·
    "flow": only `run` has it.
    """

    kind: Literal["origin", "rng", "gap", "flow"]
    step: int
    phase: str
    op: str
    module: str | None
    call_site: str | None
    count: int = 1  # how many of the same operation and line follow one another
    run: Literal["a", "b"] | None = None
    reads_uninitialized: bool = False
    made_at: str | None = None  # the line that allocated the uninitialized memory, where the record says so


@dataclass(frozen=True)
class Difference:
    """Where two runs part, first.

    `step` is 0-based; `what` is one of runs.schema.COMPARED; `name` is the parameter, group or operation.
    `call_site` is the line of run A's code, or of run B's where `site_in` says so.
    `place` is the position of the record in the trace of run A; between runs of one command, recorded alike,
    a larger one is later. `rng_first` maps the id of each RNG source whose state differs to the first step
    at which it did; `drawn` holds the ids of RNG sources that were drawn from before or in that step, and
    `agreed` those whose states were the same at some time before: by a seed, say.
    """

    step: int
    phase: str
    what: str
    kind: Kind = "value"
    name: str | None = None
    module: str | None = None
    op: str | None = None
    call_site: str | None = None
    site_in: Literal["a", "b"] = "a"
    other_site: str | None = None  # run B's line, where it is known and `call_site` is run A's
    rank: int = 0
    process: str = "rank0"
    place: int = 0
    shows: tuple[int, str] | None = None  # of an operation: the step and phase where a record of steps parts
    origin: Origin | None = None
    gap: Gap | None = None
    run: Literal["a", "b"] | None = None  # of the kind "flow": the only run that has the record
    instead: Row | None = None  # and the record at which the other run is then
    further: tuple[LaterDifference, ...] = ()  # tier ops: after it, those that it does not explain, in order
    propagated: int = 0  # tier ops: operations after it that differ because their inputs do
    indices_equal: bool | None = None  # of the batch at the difference; None: no DataLoader
    same_samples: bool | None = None  # the same multiset of indices, or of records
    in_workers: bool | None = None  # worker processes made what differs of the batch
    rng_first: Mapping[str, int] = field(default_factory=dict)
    drawn: frozenset[str] = frozenset()
    agreed: frozenset[str] = frozenset()
    a: Side = field(default_factory=Side)
    b: Side = field(default_factory=Side)


class Strength(float, Enum):
    """How strong evidence is: the strongest is tried first, and each is confirmed by a further run."""

    SEEN = 1.0  # directly: the differing read, draw or listing itself
    STRONG = 0.7  # a strong circumstance
    FAIR = 0.5  # of several that are plausible, the one to try first
    PLAUSIBLE = 0.4  # to be confirmed
    POSSIBLE = 0.35  # to be tried after what is plausible
    SLIGHT = 0.3  # the code allows it; weaker than this points to nothing
    LAST_RESORT = 0.2  # nothing else explains it
    REMOTE = 0.1  # not even the user's code shows a way


@dataclass(frozen=True)
class Evidence:
    """What makes a source the likely reason."""

    source: str
    strength: Strength
    text: str  # one sentence for people: the values seen
    call_site: str | None = None
    advice: str | None = None  # replaces the source's general advice
    beyond_control: bool = False  # the control of the source does not reach this
    # Lines that hash what the code does not tell: texts alone, seen in a further run, refute this.
    unless_texts_at: tuple[str, ...] = ()
    in_library: bool = False  # a library reads it, and the control is for what the user's own code reads
    of_later: bool = False  # of a later difference, which may be the one that reaches the training
    of_other_program: bool = False  # the runs are of other code or of another command
