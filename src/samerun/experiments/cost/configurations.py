"""The ways to run a command that `cost` prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from samerun.experiments.cost.result import CONTROL, NOISE
from samerun.runs.plan import Control, Mode, Tier
from samerun.sources.catalogue import catalogue

_MODES: tuple[tuple[Mode, str], ...] = (
    ("seeded", "every random number generator seeded; kernels stay fast"),
    ("warn", "as strict, but what has no deterministic implementation only warns"),
    ("strict", "the same bits on this machine"),
    ("portable", "the same bits on other machines, as far as measured"),
)
_ALONE = (  # what has a price; controls that act once, at the start, have none that a step shows
    "nondeterministic-kernels",
    "cudnn-benchmark",
    "cudnn-nondeterministic",
    "attention-backend",
    "worker-seeds",
    "uninitialized-memory",
    "threads",
    "cpu-isa",
)
_ON_CUDA = frozenset({"cudnn-benchmark", "cudnn-nondeterministic", "attention-backend"})


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


def setups(settings: Mapping[str, Mapping[str, Any]], seed: int) -> list[Setup]:
    """All of them, for a command whose sources said this of themselves."""
    found = [AGAIN]
    found += [Setup(mode, f"mode: {what}", Control(mode, seed)) for mode, what in _MODES]
    on_cuda = bool(settings.get("hardware", {}).get("devices"))
    loads = bool(settings.get("worker-count", {}).get("workers"))
    for id_ in _ALONE:
        if (id_ in _ON_CUDA and not on_cuda) or (id_ == "worker-seeds" and not loads):
            continue
        source = catalogue()[id_]
        control = Control("strict", seed, only=(id_,))
        found.append(Setup(id_, f"{CONTROL}: {_said(id_, source.summary)}", control))
    found.append(Setup("tier steps", "recording: every batch, loss, gradient and weight", tier="steps"))
    found.append(Setup("tier ops", "recording: every operation", tier="ops"))
    return found


def _said(id_: str, summary: str) -> str:
    words = {
        "nondeterministic-kernels": "deterministic algorithms",
        "cudnn-benchmark": "cudnn.benchmark off",
        "cudnn-nondeterministic": "cudnn.deterministic on",
        "attention-backend": "attention by repeatable implementations",
        "worker-seeds": "generators seeded before each sample",
        "uninitialized-memory": "uninitialised memory filled",
        "threads": "one thread",
        "cpu-isa": "instructions that every processor has",
    }
    return words.get(id_, summary)
