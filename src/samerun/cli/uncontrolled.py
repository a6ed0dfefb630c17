"""What `samerun run` says at its end of the sources that the run used and that it did not control."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from samerun.errors import SamerunError

if TYPE_CHECKING:
    from samerun.comparing.uncontrolled import Used
    from samerun.runs.store import Run

_MOST = 2  # uses that are named for each source


def not_controlled(run: Run, options: argparse.Namespace) -> list[str]:
    """At most two lines: what was used and where, and the command that controls it. [] for nothing."""
    from samerun.comparing.pairing import read
    from samerun.comparing.uncontrolled import FILES, left_for_the_next, uncontrolled
    from samerun.sources.catalogue import catalogue

    if run.manifest.mode in (None, "off"):
        return []  # that nothing is controlled was asked for
    try:
        recorded = read(run)
    except SamerunError:  # said elsewhere, where the run is needed
        return []
    found = uncontrolled(recorded)
    left = None if options.scratch else left_for_the_next(recorded)
    known = catalogue()
    flags = ["--control " + used.source for used in found if known[used.source].controllable]
    said = [
        _said(used) + ("" if known[used.source].controllable else ", which has no control") for used in found
    ]
    if left is not None:
        flags.append("--scratch")
        said.append(_said(left).replace(FILES, f"files left for the next run: {FILES}", 1))
    if not said:
        return []
    lines = [f"not controlled, though this run used it: {'; '.join(said)}"]
    if flags:
        lines.append(
            f"  {' '.join(['samerun run', *_own(options), *flags])} -- {shlex.join(options.command)}"
        )
    return lines


def _own(options: argparse.Namespace) -> list[str]:
    """The options that this run was given."""
    own = [f"--{name} {value}" for name in ("seed", "mode") if (value := getattr(options, name)) is not None]
    own += ["--scratch"] if options.scratch else []
    return own + [f"--control {word}" for word in options.extra]


def _said(used: Used) -> str:
    places = [f"{name} at {site}" if site else name for name, site in used.uses]
    more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
    return f"{used.source} ({', '.join(places[:_MOST])}{more})"
