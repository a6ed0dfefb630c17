"""What an audit says of a checkpoint."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import labelled


@functools.cache
def generators() -> dict[str, str]:
    """The RNGs that an audit looks for, by the ids of their sources, and what is lost without a state."""
    return labelled(lambda source: source.lost if isinstance(source, Rng) else None)


@functools.cache
def needed() -> dict[str, str]:
    """Everything that an exact resume may need, and what happens without it."""
    return {
        "model": "training would go on from other weights",
        "optimizer": "its moments and step counts would start anew",
        "scheduler": "the learning rate would start its course anew",
        "scaler": "the loss scale would start anew, and other steps would be skipped",
        **generators(),
        "loader": "within an epoch nobody knows which samples were used: some would be repeated, "
        "others left out",
        "step": "the epoch and the step to go on from are not known",
    }


@dataclass(frozen=True)
class Lack:
    """One thing that a checkpoint lacks."""

    name: str  # a key of `needed`, or what else is missing
    why: str  # what happens without it
    only_if: str = ""  # when the checkpoint does not show whether the training needs it: the condition

    def __str__(self) -> str:
        return f"{self.name}: {self.why}" + (f" (only if {self.only_if})" if self.only_if else "")


@dataclass(frozen=True)
class Audit:
    """What a checkpoint has and lacks for a resume that gives the bits of the run that was never stopped."""

    checkpoint: str  # its path, or what it was given as
    framework: str  # who made it: "samerun", "lightning", "plain", …
    version: str  # the framework's, when the checkpoint says so; else ""
    has: tuple[str, ...]
    lacks: tuple[Lack, ...]
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether nothing is lacking, not even what may not be needed."""
        return not self.lacks

    def __str__(self) -> str:
        made_by = f"{self.framework} {self.version}".strip()
        lines = [f"{self.checkpoint} ({made_by})", f"  has    {', '.join(self.has) or 'nothing'}"]
        lines += [f"  {'lacks' if index == 0 else '     '}  {lack}" for index, lack in enumerate(self.lacks)]
        lines += [f"  note   {note}" for note in self.notes]
        if self.exact:
            lines.append("  Nothing is lacking: with the same code, data and versions a resume can be exact.")
        elif all(lack.only_if for lack in self.lacks):
            lines.append("  A resume can be exact only if what is lacking is not needed.")
        else:
            lines.append("  A resume cannot be exact.")
        return "\n".join(lines)
