"""What `[tool.samerun]` in pyproject.toml, or samerun.toml, keeps of the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samerun.cli.controls import choose_sources
from samerun.errors import UsageError
from samerun.runs.ignored import IgnoredNames
from samerun.runs.plan import MODES
from samerun.runs.toml import parse_toml

FILES = ("samerun.toml", "pyproject.toml")


@dataclass(frozen=True)
class Settings:
    """None, () and nothing to ignore where the file says nothing."""

    mode: Any = None
    seed: int | None = None
    control: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    runs: int | None = None
    steps: int | None = None
    ignore: IgnoredNames = field(default_factory=IgnoredNames)
    store: Path | None = None  # the folder that holds .samerun, absolute
    path: Path | None = None  # the file that says so

    def name_key(self, key: str) -> str:
        """A key of the file, as errors call it."""
        return f"{_name_table(self.path)}: {key}"

    def find_command(self) -> list[str]:
        """The command, [] where none is kept. Raises UsageError outside of the folder of the file."""
        if self.path is None or not self.command:
            return []
        if self.path.parent != Path.cwd():
            raise UsageError(
                f"the command in {self.path} is to be run in its folder; go there "
                f"(cd {self.path.parent}), or put a command after --"
            )
        return list(self.command)


def read_settings(folder: Path) -> Settings:
    """Those of the nearest samerun.toml or pyproject.toml, in `folder` or upwards.

    Raises UsageError for a mistake in it, and where a folder has both.
    """
    for here in (folder, *folder.parents):
        paths = [here / name for name in FILES if (here / name).is_file()]
        if paths:
            return _read_folder(paths)
    return Settings()


def _read_folder(paths: list[Path]) -> Settings:
    tables = {path: table for path in paths if (table := _read_table(path)) is not None}
    if len(tables) > 1:
        one, other = tables
        raise UsageError(f"{one} and [tool.samerun] in {other} both have settings; keep one of them")
    for path, table in tables.items():
        for key in table:
            if key not in _KEYS:
                raise _make_usage_error(path, f"there is no key {key!r}; {_suggest_key(key)}")
        read = {key: check(path, table[key]) for key, check in _KEYS.items() if key in table}
        return Settings(**read, path=path)
    return Settings()


def _read_table(path: Path) -> Mapping[str, Any] | None:
    """The table of samerun; None without one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    own = path.name == FILES[0]
    if not own and "samerun" not in text:
        return None
    try:
        found = parse_toml(text)
        if not own:
            found = found.get("tool", {}).get("samerun")
    except (ValueError, AttributeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if found is not None and not isinstance(found, dict):
        raise _make_usage_error(path, "it is no table")
    return found


def _check_mode(path: Path, value: Any) -> Any:
    if value in MODES:
        return value
    raise _make_usage_error(path, f"mode is {value!r}; the modes are {', '.join(MODES)}")


def _check_seed(path: Path, value: Any) -> int:
    if _is_integer(value) and 0 <= value < 2**64:
        return int(value)
    raise _make_usage_error(path, f"seed is {value!r}; give an integer from 0 to 2**64 - 1")


def _check_control(path: Path, value: Any) -> tuple[str, ...]:
    if _is_list_of_words(value):
        choose_sources(value, f"{_name_table(path)}: control")  # also for a verb that controls nothing
        return tuple(value)
    raise _make_usage_error(path, f'control is {value!r}; give a list such as ["clock"]')


def _check_command(path: Path, value: Any) -> tuple[str, ...]:
    """The words of a command that is written as one text, or as a list of them."""
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        said = f"command is {value!r}, which cannot be read as a command ({error})"
        raise _make_usage_error(path, said) from None
    if _is_list_of_words(words) and words and words[0] and not words[0].startswith("-"):
        return tuple(words)
    raise _make_usage_error(path, f'command is {value!r}; give one such as "python train.py"')


def _check_number(key: str, least: int) -> Callable[[Path, Any], int]:
    def check(path: Path, value: Any) -> int:
        if _is_integer(value) and value >= least:
            return int(value)
        raise _make_usage_error(path, f"{key} is {value!r}; give an integer of {least} or more")

    return check


def _check_ignore(path: Path, value: Any) -> IgnoredNames:
    example = 'give a table of names and reasons: ignore = {"head.bias" = "trained apart"}'
    if not isinstance(value, dict):
        raise _make_usage_error(path, f"ignore is {value!r}; {example}")
    for name, reason in value.items():
        if not isinstance(reason, str) or not reason.strip():
            raise _make_usage_error(path, f"ignore has no reason for {name!r}; {example}")
        if not name.strip():
            raise _make_usage_error(path, f"ignore has a name that is empty; {example}")
    return IgnoredNames(tuple(value.items()))


def _check_store(path: Path, value: Any) -> Path:
    if isinstance(value, str) and value:
        return path.parent.absolute() / value
    raise _make_usage_error(
        path, f'store is {value!r}; give the folder in which .samerun is to be, such as "../runs"'
    )


_KEYS: Mapping[str, Callable[[Path, Any], Any]] = {
    "command": _check_command,
    "control": _check_control,
    "ignore": _check_ignore,
    "mode": _check_mode,
    "runs": _check_number("runs", 2),
    "seed": _check_seed,
    "steps": _check_number("steps", 1),
    "store": _check_store,
}


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_list_of_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _suggest_key(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, _KEYS, n=1, cutoff=0)
    return f"did you mean {near[0]!r}? The keys are {', '.join(_KEYS)}"


def _make_usage_error(path: Path, what: str) -> UsageError:
    return UsageError(f"{_name_table(path)}: {what}")


def _name_table(path: Path | None) -> str:
    return str(path) if path is not None and path.name == FILES[0] else f"[tool.samerun] in {path}"
