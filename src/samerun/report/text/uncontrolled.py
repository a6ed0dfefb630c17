"""What `samerun run` says at its end of the sources that the run used and that it did not control."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from samerun.errors import SamerunError
from samerun.runs.secrets_in_text import hide_secrets

if TYPE_CHECKING:
    from samerun.comparing.pairing import RecordedRun
    from samerun.comparing.uncontrolled import SourceUse
    from samerun.runs.store import Run

_MOST = 2  # uses that are named for each source


def describe_uncontrolled(run: Run, options: argparse.Namespace) -> list[str]:
    """What was used and where, and the command that controls it; what the script set and was not done.

    And what the controls that were asked for changed beside. A line for each; [] for nothing.
    """
    from samerun.comparing.in_play import list_used_by_code
    from samerun.comparing.pairing import read
    from samerun.comparing.uncontrolled import FILES, find_left_files
    from samerun.sources.catalogue import find_sources

    if run.manifest.mode in (None, "off"):
        return []  # that nothing is controlled was asked for
    try:
        recorded = read(run)
    except SamerunError:  # said elsewhere, where the run is needed
        return []
    found = list_used_by_code(recorded)
    left = None if options.scratch else find_left_files(recorded)
    known = find_sources()
    free = [all(known[used.source].is_beyond_control(name) for name, _ in used.uses) for used in found]
    flags = [f"--control {used.source}" for used, none in zip(found, free, strict=True) if not none]
    said = [
        _describe_used(used) + (", which has no control" if none else "")
        for used, none in zip(found, free, strict=True)
    ]
    if left is not None:
        flags.append("--scratch")
        said.append(_describe_used(left).replace(FILES, f"files left for the next run: {FILES}", 1))
    lines = [*_describe_held(recorded), *_describe_moved(recorded), *_describe_side_effects(recorded)]
    if not said:
        return lines
    lines += [f"not controlled, though this run used it: {'; '.join(said)}"]
    if flags:
        command = shlex.join(hide_secrets(options.command))
        lines.append(f"  {' '.join(['samerun run', *_own(options), *flags])} -- {command}")
        offered = [known[used.source] for used, none in zip(found, free, strict=True) if not none]
        lines += [f"  ({source.side_effect})" for source in offered if source.side_effect]
    return lines


def _describe_held(recorded: RecordedRun) -> list[str]:
    """What the script would have changed of what is controlled; of cuDNN's flags where it can matter."""
    from samerun.comparing.uncontrolled import list_held
    from samerun.sources.evidence.op_families import has_devices

    on_device = has_devices(recorded.run.manifest.settings)
    rows = [row for row in list_held(recorded) if on_device or "cudnn" not in (row.detail or "")]
    written = [f"{row.detail} at {row.call_site}" for row in rows]
    more = f" and {len(written) - _MOST} more" if len(written) > _MOST else ""
    return (
        [f"not done, so that the run repeats itself: {', '.join(written[:_MOST])}{more}"] if written else []
    )


def _describe_moved(recorded: RecordedRun) -> list[str]:
    """The listings that came in another order than the file system's, where the code does not sort them."""
    from samerun.comparing.uncontrolled import list_moved

    sites = list_moved(recorded)
    more = f" and {len(sites) - _MOST} more" if len(sites) > _MOST else ""
    return (
        [
            f"listed by name, not in the file system's order: {', '.join(sites[:_MOST])}{more}; where "
            "classes or a split follow that order, sort and shuffle there"
        ]
        if sites
        else []
    )


def _describe_side_effects(recorded: RecordedRun) -> list[str]:
    from samerun.comparing.uncontrolled import is_controlled
    from samerun.sources.catalogue import find_sources

    return [
        f"{source.id} was controlled: {source.side_effect}"
        for source in find_sources().values()
        if source.side_effect and is_controlled(recorded, source.id)
    ]


def _own(options: argparse.Namespace) -> list[str]:
    """The options that this run was given."""
    own = [f"--{name} {value}" for name in ("seed", "mode") if (value := getattr(options, name)) is not None]
    own += ["--compatible"] if options.compatible else []
    own += [f"--timeout {options.timeout:g}"] if options.timeout is not None else []
    own += ["--scratch"] if options.scratch else []
    return own + [f"--control {word}" for word in options.extra]


def _describe_used(used: SourceUse) -> str:
    places = [f"{name} at {site}" if site else name for name, site in used.uses]
    more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
    return f"{used.source} ({', '.join(places[:_MOST])}{more})"
