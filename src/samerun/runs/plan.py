"""What a launched command is asked to do: one JSON value in one environment variable."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

VARIABLE = "SAMERUN_PLAN"
Mode = Literal["off", "seeded", "strict", "warn"]
Tier = Literal["steps", "ops"]
MODES: tuple[Mode, ...] = ("off", "seeded", "strict", "warn")


@dataclass(frozen=True)
class Control:
    """Which sources to control, and with what.

    `mode` picks the sources; `only` (ids) narrows them to these, whatever the mode, and
    `extra` (ids) adds those that are controlled on request alone (clock, os-entropy, …).
    """

    mode: Mode = "strict"
    seed: int = 0
    only: tuple[str, ...] | None = None
    extra: tuple[str, ...] = ()
    fill: bool = False  # fill uninitialised memory: finds bugs, and is most of the price of strict mode
    disable_cudnn: bool = False


@dataclass(frozen=True)
class Plan:
    """One launched command's instructions.

    `window` is the first and last step (inclusive) recorded at tier `ops`; step -1 stands for the
    setup before step 0, and None with tier `ops` means every step. `stop_after` ends the command once
    that step is complete.
    """

    run: str  # absolute path of the run's folder
    tier: Tier = "steps"
    window: tuple[int, int] | None = None
    stop_after: int | None = None
    control: Control | None = None

    def to_json(self) -> str:
        """The plan as one line of JSON."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote."""
        value: dict[str, Any] = json.loads(text)
        control = value.pop("control")
        window = value.pop("window")
        return cls(
            **value,
            window=None if window is None else (window[0], window[1]),
            control=None if control is None else _control(control),
        )


def _control(value: Mapping[str, Any]) -> Control:
    only = value["only"]
    return Control(
        mode=value["mode"],
        seed=value["seed"],
        only=None if only is None else tuple(only),
        extra=tuple(value["extra"]),
        fill=value["fill"],
        disable_cudnn=value["disable_cudnn"],
    )
