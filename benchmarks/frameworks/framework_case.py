"""A framework's training script, and what is true of it.

A folder `cases/<name>/` holds a script as its users write it, a `prepare.py` where it needs files, and
`truth.toml`:

    title = "Lightning"
    about = "what it trains with"       # for people
    package = "lightning"               # without it the framework is left out
    files = "accelerate"                # takes the files of that folder; default: its own
    command = "python train.py"         # the default; split at blanks
    weights = "final.ckpt"              # the file that it saves its last weights to
    steps = 12                          # optimizer steps
    passes = 24                         # backward passes: micro-batches
    evaluated = 8                       # batches that a model evaluates; left out: not counted
    augmented = ["train.py", "old", "new"]  # writes what a sample drew into drawn.txt, a line each

    [plant]                             # what makes the script differ from run to run, in the user's file
    file = "train.py"
    old = "…"                           # a text that occurs once
    new = "…"                           # what takes its place; its statement is the line asked for
    also = ["old", "new"]               # a second edit of that file
    sources = ["numpy-generator"]       # ids that are right

    [resume]
    kill_at = 9                         # in an epoch, after a checkpoint
    command = "python train.py --resume"    # default: the command
    lacks = ["sample order"]            # what is known to be lacking; "same" where it can be exact
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Plant:
    """One cause of differences, put into the user's file."""

    file: str
    old: str
    new: str
    sources: list[str]
    also: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Resume:
    """How it is killed and resumed."""

    kill_at: int
    lacks: list[str]
    command: str | None = None


@dataclass(frozen=True)
class Framework:
    """A script and what is true of it."""

    name: str
    title: str
    about: str
    package: str
    weights: str
    steps: int
    passes: int
    plant: Plant
    resume: Resume
    files: str | None = None
    command: str = "python train.py"
    evaluated: int | None = None
    augmented: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return CASES / (self.files or self.name)

    @property
    def installed(self) -> bool:
        """Whether it can be run here."""
        return importlib.util.find_spec(self.package) is not None


def load(names: list[str]) -> list[Framework]:
    """The frameworks of these names, or all; SystemExit where there is none of a name."""
    found = sorted(path.parent.name for path in CASES.glob("*/truth.toml"))
    unknown = sorted(set(names) - set(found))
    if unknown:
        raise SystemExit(f"no framework is called {', '.join(unknown)}; there are {', '.join(found)}")
    return [_read(name) for name in names or found]


def _read(name: str) -> Framework:
    path = CASES / name / "truth.toml"
    values = tomllib.loads(path.read_text())
    try:
        plant, resume = Plant(**values.pop("plant")), Resume(**values.pop("resume"))
        return Framework(name, plant=plant, resume=resume, **values)
    except (TypeError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from None
