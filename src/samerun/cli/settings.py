"""What `[tool.samerun]` in pyproject.toml keeps of the command line: the seed, the mode, further controls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samerun.errors import UsageError
from samerun.runs.plan import MODES
from samerun.runs.toml import parse_toml

FILE = "pyproject.toml"
_KEYS = ("control", "mode", "seed")


@dataclass(frozen=True)
class Settings:
    """None and () where the file says nothing."""

    mode: Any = None
    seed: int | None = None
    control: tuple[str, ...] = ()


def read_settings(folder: Path) -> Settings:
    """Those of the nearest pyproject.toml, in `folder` or upwards. Raises UsageError for a mistake in it."""
    path = next((here / FILE for here in (folder, *folder.parents) if (here / FILE).is_file()), None)
    table = {} if path is None else _read_table(path)
    for key in table:
        if key not in _KEYS:
            raise _make_usage_error(path, f"there is no key {key!r}; {_suggest_key(key)}")
    mode, seed, control = table.get("mode"), table.get("seed"), table.get("control", [])
    if mode is not None and mode not in MODES:
        raise _make_usage_error(path, f"mode is {mode!r}; the modes are {', '.join(MODES)}")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64):
        raise _make_usage_error(path, f"seed is {seed!r}; give an integer from 0 to 2**64 - 1")
    if not isinstance(control, list) or not all(isinstance(item, str) for item in control):
        raise _make_usage_error(path, f'control is {control!r}; give a list such as ["clock"]')
    return Settings(mode, seed, tuple(control))


def _read_table(path: Path) -> dict[str, Any]:
    """The table of samerun, {} without one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    if "samerun" not in text:
        return {}
    try:
        found = parse_toml(text).get("tool", {}).get("samerun", {})
    except (ValueError, AttributeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise _make_usage_error(path, "it is no table")
    return found


def _suggest_key(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, _KEYS, n=1, cutoff=0)
    return f"did you mean {near[0]!r}? The keys are {', '.join(_KEYS)}"


def _make_usage_error(path: Path | None, what: str) -> UsageError:
    return UsageError(f"[tool.samerun] in {path}: {what}")
