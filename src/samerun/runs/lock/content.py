"""What a lock holds: which bits a training gives, on each class of machine that it was run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from samerun.runs.plan import Control, Fill, Mode

VERSION = 1
DIGESTS = "xxh3-128/1 mix128/1 sha256/2"  # of tensors on the host, on devices, and of what is made of those
OUTSIDE = "…/"  # begins the name of a file that does not lie below the lock
OTHER_FRACTIONS = (
    ": other fractions"  # after a file's name: those of its values that no name says are results
)
EVERYTHING = "./"  # stands for all files, where they are too many to be named
FILLS: Mapping[str, Fill] = {"": False, "zeros": True, "nan": "nan"}  # the word in the file, the value
PORTABLE = ("indices", "draws")  # quantities without floating point: they hold on every machine


@dataclass(frozen=True)
class LockedStep:
    """One step: the digest of each quantity (32 hexadecimal digits), and its last loss."""

    at: int
    digests: Mapping[str, str]
    loss: float | None = None


@dataclass(frozen=True)
class LockedResult:
    """What a run leaves: metrics in their printed or written form, saved files by their tensors."""

    loss: float | None = None  # the last one
    metrics: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # path to 32 hexadecimal digits

    def list_files(self) -> list[str]:
        """The paths, each once."""
        return sorted({name.removesuffix(OTHER_FRACTIONS) for name in self.files})


@dataclass(frozen=True)
class Bounds:
    """How far results move where the bits cannot be equal, and by which factors that was measured."""

    loss: float  # largest relative distance of a loss at a locked step
    metrics: Mapping[str, float] = field(default_factory=dict)  # largest relative distance of each
    factors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Environment:
    """A class of machine, and the bits that the training gives there."""

    run: str  # the id of the run that was locked
    machine: Mapping[str, str]  # processor, instruction set, devices
    settings: Mapping[str, str]  # what the process set that moves numbers: threads, TF32, …
    packages: Mapping[str, str]  # name to version, python among them
    variables: Mapping[str, str]
    steps: tuple[LockedStep, ...]  # a few of them, in order
    root: Mapping[str, str]  # of each quantity over every step, and "all" (64 hexadecimal digits)
    result: LockedResult = field(default_factory=LockedResult)
    bounds: Bounds | None = None


@dataclass(frozen=True)
class LockedCode:
    """The user's own files that ran."""

    digest: str  # of all of them
    files: Mapping[str, str] = field(default_factory=dict)  # those below the lock's folder
    commit: str | None = None
    dirty: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)  # that it reads; a number, or else a digest


@dataclass(frozen=True)
class Lock:
    """The command, how it is controlled, and what it gives."""

    command: tuple[str, ...]
    mode: Mode
    seed: int
    ranks: int
    steps: int  # optimizer steps
    code: LockedCode
    environments: Mapping[str, Environment]  # by id
    inputs: Mapping[str, str] = field(default_factory=dict)  # path to 32 hexadecimal digits
    revisions: Mapping[str, str] = field(default_factory=dict)  # `datasets/owner/name` to commits
    portable: Mapping[str, str] = field(default_factory=dict)  # quantity to a root (64 digits)
    counts: Mapping[str, int] = field(default_factory=dict)  # numbers drawn, by generator
    control: tuple[str, ...] = ()  # further sources that are controlled
    fill: Fill = False
    compatible: bool = False  # the global generators are seeded as a script would, for published seeds
    limit: int | None = None  # the run is stopped after so many steps
    beside: bool = False  # the program is the one that lies beside the Python that runs samerun
    left_out: tuple[str, ...] = ()  # quantities that differ from run to run without effect on the rest

    def make_control(self) -> Control:
        """How the sources are controlled in a run that is compared with the lock."""
        return Control(self.mode, self.seed, extra=self.control, fill=self.fill, compatible=self.compatible)


def is_inside(name: str) -> bool:
    """Whether this is a relative path that does not climb, or the mere name of a file outside.

    OUTSIDE alone stands for all those.
    """
    if name in (EVERYTHING, OUTSIDE):
        return True
    path = PurePosixPath(name.removeprefix(OUTSIDE))
    climbs = path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name
    return bool(path.parts) and not climbs and (not name.startswith(OUTSIDE) or len(path.parts) == 1)
