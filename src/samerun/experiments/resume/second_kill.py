"""Where to kill a second time: in the same epoch, after a checkpoint of the resumed process if one fits."""

from __future__ import annotations

from dataclasses import dataclass

from samerun.experiments.resume.epoch_starts import EpochStarts
from samerun.experiments.resume.resume_step import list_checkpoints
from samerun.runs.reading import Trace

_LATER = 3  # steps after the first kill, where nothing asks for more


@dataclass(frozen=True)
class SecondKill:
    """Before which step of the whole run, and whether that is in the epoch of the first kill."""

    step: int
    same_epoch: bool | None  # None: no epochs are known


def choose_second_kill(whole: Trace, resumed: Trace, began: int, first: int, last: int) -> SecondKill | None:
    """The step to kill at again after `first`, at most `last`; None when there is none between.

    `resumed` is a run that went on from step `began` to the end: what it saved tells when there is a
    checkpoint that a resumed process wrote.
    """
    if last <= first:
        return None
    own = [began + done for done, _ in list_checkpoints(resumed)]
    wanted = max(first + _LATER, min(own, default=0))
    beginnings = EpochStarts(whole)
    known = beginnings.number(first) is not None
    end = _find_epoch_end(beginnings, first, min(wanted, last))
    if end > first:
        return SecondKill(end, True if known else None)
    return SecondKill(min(first + _LATER, last), False)


def _find_epoch_end(beginnings: EpochStarts, first: int, most: int) -> int:
    """The last step, up to `most`, of the epoch that `first` belongs to; `most` when no epochs are known."""
    number = beginnings.number(first)
    for step in range(first + 1, most + 1):
        now = beginnings.number(step)
        if number is not None and now is not None and now <= number:
            return step - 1
        number = now
    return most
