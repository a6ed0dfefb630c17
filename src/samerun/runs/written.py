"""What a run wrote into files, by value: `written.json` in its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from samerun.runs import untrusted

FILE = "written.json"
BEYOND = "beyond."  # names a digest of the values for which there was no place
VALUE_OF = "value of "  # names what stands beside a name, as in {"name": "acc", "value": 0.9}
_MOST_BYTES = 64 << 20
Value = float | int | str | bool | None  # a number, or what stands for a text, an array or a tensor


@dataclass(frozen=True)
class WrittenFile:
    """One file, as the run left it."""

    site: str | None  # the line that opened it
    values: Mapping[str, Value] = field(default_factory=dict)  # by name: "test.accuracy", "3.loss"
    digest: str | None = None  # of a file whose values are not read, or not all of them
    text: str | None = None  # of one that has no form: a log, a table for people
    was_read: bool = False  # the run read it too: it may hold what was there before


def save_written(written: Mapping[str, WrittenFile], run: Path) -> None:
    """Write it into the folder of a run; nothing where nothing was written. Raises OSError."""
    if written:
        path = run / FILE
        path.touch(0o600)
        text = json.dumps({name: asdict(file) for name, file in written.items()})
        path.write_text(text, encoding="utf-8", errors="backslashreplace")


def load_written(run: Path) -> dict[str, WrittenFile]:
    """What `save_written` wrote, by path; {} where there is none, or it cannot be read."""
    import msgspec

    try:
        value = untrusted.parse_json(untrusted.read_text(run / FILE, _MOST_BYTES))
        return msgspec.convert(value, dict[str, WrittenFile])
    except (OSError, ValueError, msgspec.ValidationError):
        return {}
