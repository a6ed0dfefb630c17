"""The ways to run a command that `cost` prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from samerun.experiments.cost.result import CONTROL, NOISE
from samerun.runs.plan import Control, Mode, Tier
from samerun.sources.catalogue import find_sources, labelled

_MODES: tuple[tuple[Mode, str], ...] = (
    ("seeded", "every random number generator seeded; kernels stay fast"),
    ("warn", "as strict, but what has no deterministic implementation only warns"),
    ("strict", "the same bits on this machine"),
    ("portable", "the same bits on other machines, as far as measured"),
)


@dataclass(frozen=True)
class Setup:
    """One way to run the command."""

    name: str
    what: str
    control: Control | None = None
    tier: Tier = "none"
    environment: Mapping[str, str] = field(default_factory=dict)


NOTHING = Setup("off", "the command left alone")
AGAIN = Setup(NOISE, "the command left alone once more: what the noise of this machine looks like")


def list_setups(settings: Mapping[str, Mapping[str, Any]], seed: int) -> list[Setup]:
    """All of them, for a command whose sources said this of themselves."""
    found = [AGAIN]
    found += [Setup(mode, f"mode: {what}", Control(mode, seed)) for mode, what in _MODES]
    for id_, what in labelled(lambda source: source.price).items():
        if find_sources()[id_].has_price_in(settings):
            found.append(Setup(id_, f"{CONTROL}: {what}", Control("strict", seed, only=(id_,))))
    found.append(Setup("tier steps", "recording: every batch, loss, gradient and weight", tier="steps"))
    found.append(Setup("tier ops", "recording: every operation", tier="ops"))
    return found
