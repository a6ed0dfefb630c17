"""What a training just resumed has not as the one that went on: never saved, or not brought back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samerun.ranks.named_digests import find_first_difference
from samerun.testing.describe import describe_difference
from samerun.testing.step_digests import Moment, digest_loaded
from samerun.testing.unsaved_state import UnsavedObject, find_unsaved

_BEFORE, _NOW = "the training that went on", "the resumed one"


@dataclass(frozen=True)
class Holdings:
    """All that a training holds, saved or not."""

    saved: Moment
    unsaved: list[UnsavedObject]


def list_holdings(training: Any) -> Holdings:
    """What it holds now."""
    return Holdings(digest_loaded(training), find_unsaved(training))


def describe_forgotten(before: Holdings, after: Holdings) -> str:
    """What to add or to mend, in words; "" when nothing can be told."""
    now = {held.name: held.entries for held in after.unsaved}
    found = [find_first_difference(held.entries, now.get(held.name, ())) for held in before.unsaved]
    lost = [describe_difference(difference, _BEFORE, _NOW) for difference in found if difference is not None]
    if lost:
        return f"Not in objects, and not as it was: {'; '.join(lost[:8])}"
    difference = before.saved.difference(after.saved)
    if difference is not None:
        return (
            "In objects, but loading does not bring it back: "
            f"{describe_difference(difference, _BEFORE, _NOW)}"
        )
    silent = [f"{held.name} (a {held.kind})" for held in before.unsaved if not held.entries]
    if silent:
        return (
            f"Not in objects, and with a position that it does not tell: {', '.join(silent[:8])}; "
            "samerun.data.DataLoader has one"
        )
    return ""
