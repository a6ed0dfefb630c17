"""What a launched command is asked to do: one JSON value in one environment variable."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

VARIABLE = "SAMERUN_PLAN"
Mode = Literal["off", "seeded", "strict", "warn", "portable"]
Tier = Literal["none", "steps", "ops"]
Fill = bool | Literal["nan"]
MODES: tuple[Mode, ...] = ("off", "seeded", "strict", "warn", "portable")


@dataclass(frozen=True)
class Control:
    """Which sources to control, and with what.

    `mode` picks the sources; `only` (ids) narrows them to these, whatever the mode, and
    `extra` (ids) adds those that are controlled on request alone (clock, process-id, …).
    """

    mode: Mode = "strict"
    seed: int = 0
    only: tuple[str, ...] | None = None
    extra: tuple[str, ...] = ()
    fill: Fill = False  # uninitialised memory is zeros, or "nan": what reads it then shows
    disable_cudnn: bool = False
    compatible: bool = False  # global generators begin as `random.seed(seed)` and its like leave them

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Control:
        """The control of a plan that was read from JSON."""
        only = value["only"]
        return cls(
            mode=value["mode"],
            seed=value["seed"],
            only=None if only is None else tuple(only),
            extra=tuple(value["extra"]),
            fill=value["fill"],
            disable_cudnn=value["disable_cudnn"],
            compatible=value.get("compatible", False),
        )


@dataclass(frozen=True)
class Probe:
    """One operation to run again alone, where it ran: `nth` (0-based) of its like in the step."""

    step: int
    op: str  # as recorded, e.g. "aten.index_put_.default"
    phase: str
    module: str | None
    call_site: str | None
    nth: int = 0


@dataclass(frozen=True)
class Replay:
    """Which sources get what they had in a recorded run: all that kept something, or some of them."""

    run: str  # absolute path of the recorded run's folder
    only: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    def holds(self, source: str) -> bool:
        """Whether the source of this id is replayed."""
        return source not in self.without and (self.only is None or source in self.only)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Replay:
        """The replay of a plan that was read from JSON."""
        only = value["only"]
        return cls(value["run"], None if only is None else tuple(only), tuple(value["without"]))


@dataclass(frozen=True)
class Given:
    """Numbers that a variable gets, each time that a statement has written it, in this order."""

    process: tuple[str, ...]  # its place in the tree of processes
    file: str  # as call sites have it
    line: int
    name: str
    values: tuple[int | float, ...]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Given:
        """What a plan that was read from JSON gives."""
        return cls(
            tuple(value["process"]), value["file"], value["line"], value["name"], tuple(value["values"])
        )


@dataclass(frozen=True)
class Plan:
    """One launched command's instructions.

    Tier `none` records nothing at all. With `clock` rank 0 writes how long its optimizer steps took; where it
    names a folder, each step waits for its turn there (see recording.clock).
    `window` is the first and last step (inclusive) recorded at tier `ops`; step -1 stands for the
    setup before step 0, and None with tier `ops` means every step. `stop_after` ends the command once
    that step is complete.
    """

    run: str = ""  # absolute path of the run's folder, which launching.run makes
    tier: Tier = "steps"
    window: tuple[int, int] | None = None
    stop_after: int | None = None
    control: Control | None = None
    values: bool = False  # sample the values of the weights now and then, to measure how a difference grows
    probe: Probe | None = None
    clock: str | None = None
    folder: str | None = None  # that the command is started in; launching.run fills it in
    root: str | None = None  # what stands for `/` in the copy that the command runs in; launching.run's too
    kept_since: float | None = None  # Unix time: in a copy, checkpoints outside of it that are older stay
    vary: Mapping[str, Any] = field(default_factory=dict)  # source id to the value that `Source.vary` gets
    replay: Replay | None = None
    lines: bool = False  # keep what the variables of the user's code hold, line by line
    given: tuple[Given, ...] = ()  # with `lines`: what some of them get
    asked: tuple[str, ...] = ()  # call sites: note whether what they hash is texts alone
    hash_seed: int | None = None  # what the PYTHONHASHSEED of each process is derived from; None: left alone

    def to_json(self) -> str:
        """The plan as one line of JSON."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote."""
        value: dict[str, Any] = json.loads(text)
        control = value.pop("control")
        window = value.pop("window")
        probe = value.pop("probe")
        replay = value.pop("replay", None)
        given = value.pop("given", ())
        asked = value.pop("asked", ())
        return cls(
            **value,
            window=None if window is None else (window[0], window[1]),
            control=None if control is None else Control.from_json(control),
            probe=None if probe is None else Probe(**probe),
            replay=None if replay is None else Replay.from_json(replay),
            given=tuple(map(Given.from_json, given)),
            asked=tuple(asked),
        )
