"""A diagnosis beside the first of its runs, as JSON, and read back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from samerun.errors import RunError, SchemaError
from samerun.experiments.diagnose.result import Diagnosis
from samerun.runs import untrusted
from samerun.runs.difference import Side
from samerun.runs.schema import SCHEMA
from samerun.runs.store import Run

FILE = "diagnosis.json"
PATCH = "fix.patch"
_MOST_BYTES = 128 << 20  # it has the losses of each step of each run


def save(diagnosis: Diagnosis, run: Run) -> Path:
    """Write it into the folder of this run, its patch beside it, and return its file. Raises OSError."""
    text = json.dumps(diagnosis.to_json(), indent=2, allow_nan=False) + "\n"
    patch = diagnosis.patch
    if patch is not None and patch.diff:
        _write(run.path / PATCH, patch.diff)
    return _write(run.path / FILE, text)


def _write(path: Path, text: str) -> Path:
    path.touch(0o600)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path


def load(run: Run) -> Diagnosis | None:
    """The diagnosis in the folder of this run, None when there is none.

    Of each difference its place and the run's settings are known, not what surrounds it; of the patch its
    text, not the files.
    Raises RunError for a damaged file or manifest, SchemaError for a version not known here.
    """
    path = run.path / FILE
    try:
        text = untrusted.read_text(path, _MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _make_damaged_error(path, error.strerror or error) from None
    except ValueError as error:
        raise _make_damaged_error(path, error) from None
    try:
        value = untrusted.parse_json(text)
    except ValueError as error:
        raise _make_damaged_error(path, error) from None
    if not isinstance(value, dict):
        raise _make_damaged_error(path, f"a JSON {type(value).__name__} instead of an object")
    if value.get("schema") != SCHEMA:
        raise SchemaError(
            f"The diagnosis {path} has schema {value.get('schema')!r}; this samerun knows {SCHEMA}. "
            "Install the samerun that wrote it, or run `samerun diagnose` again."
        )
    return _read(path, value, run)


def _read(path: Path, value: Mapping[str, Any], run: Run) -> Diagnosis:
    import msgspec

    manifest = run.manifest
    known = {
        "folder": manifest.cwd,
        "foreign": not run.lies_in_its_folder,
        "place": str(run.path.parent),
        "controlled": manifest.mode not in (None, "off"),
    }
    patch = value.get("patch")
    check = {**value, **known, "difference": value.get("first_difference")}
    whole = {
        **value,
        "check": {name: found for name, found in check.items() if name != "found"},
        "patch": {**patch, "files": {}} if isinstance(patch, Mapping) else patch,
    }
    try:
        whole["check"]["losses"] = [_read_losses(of_run) for of_run in value.get("losses", [])]
        diagnosis = msgspec.convert(whole, Diagnosis)
    except (msgspec.ValidationError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _make_damaged_error(path, error) from None
    runs, losses = len(diagnosis.check.runs), len(diagnosis.check.losses)
    if not runs or losses not in (0, runs):
        raise _make_damaged_error(path, f"{runs} runs, and losses of {losses}")
    return _add_settings(diagnosis, Side(settings=manifest.settings))


def _add_settings(diagnosis: Diagnosis, side: Side) -> Diagnosis:
    """With what its first run said of itself, such as which code it ran: the others ran the same."""
    first = diagnosis.check.difference
    first = None if first is None else replace(first, a=side, b=side)
    check = replace(diagnosis.check, difference=first)
    found = (replace(item, difference=replace(item.difference, a=side, b=side)) for item in diagnosis.found)
    return replace(diagnosis, check=check, found=tuple(found))


def _read_losses(of_run: Mapping[str, Any]) -> dict[int, list[float]]:
    """The losses of each step; JSON has no word for nan and inf, so they are strings there."""
    return {int(step): [float(loss) for loss in losses] for step, losses in of_run.items()}


def _make_damaged_error(path: Path, found: object) -> RunError:
    return RunError(f"The diagnosis {path} is damaged ({found}). Run `samerun diagnose` again.")
