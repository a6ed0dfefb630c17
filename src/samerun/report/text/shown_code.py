"""The line where two runs diverge, and the code around it: only where a run had the file as it reads now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from samerun.runs.difference import Difference
from samerun.runs.source_lines import read_source
from samerun.sources.code import find_digest, judge_site

Source = tuple[list[str], int]  # the lines of a file, and the number of the one that is pointed at
_NOTES = {"changed": "the file has changed since", "gone": "the file is no longer there"}


def call_site(difference: Difference) -> str | None:
    """The line of the user's code, as `file.py:31`."""
    return difference.call_site or (difference.origin.call_site if difference.origin else None)


def list_sites(difference: Difference) -> Mapping[Literal["a", "b"], str]:
    """The line in the code of each run, as far as it is known."""
    site = call_site(difference)
    found: dict[Literal["a", "b"], str] = {} if site is None else {difference.site_in: site}
    if difference.other_site is not None and "b" not in found:
        found["b"] = difference.other_site
    return found


def name_line(difference: Difference) -> str | None:
    """The line, and of which run it is where the two do not share it."""
    sites = list_sites(difference)
    if not sites:
        return None
    if len(sites) == 2 and len(set(sites.values())) == 1:
        return sites["a"]
    if len(sites) == 1:
        ((run, site),) = sites.items()
        a, b = (find_digest(site, side.settings) for side in (difference.a, difference.b))
        return site if a == b else f"{site} in run {run.upper()}"
    return ", ".join(f"{site} in run {run.upper()}" for run, site in sites.items())


def describe_line(difference: Difference, folder: str) -> str | None:
    """The same, and why there is no code to show where its file is not what it was."""
    name = name_line(difference)
    if name is None or find_code(difference, folder) is not None:
        return name
    states = (_judge(difference, run, site, folder) for run, site in list_sites(difference).items())
    notes = dict.fromkeys(_NOTES[state] for state in states if state in _NOTES)
    return f"{name} ({next(iter(notes))})" if notes else name


def find_code(difference: Difference, folder: str) -> tuple[str, Source] | None:
    """(the line, the file around it), of run A where its file is as it was, else of run B."""
    for run, site in list_sites(difference).items():
        if _judge(difference, run, site, folder) not in _NOTES:
            source = read_source(site, folder)
            if source is not None:
                return site, source
    return None


def may_show(difference: Difference, site: str, folder: str) -> bool:
    """Whether the file of a line is as both runs had it, for all that is known."""
    return not any(_judge(difference, run, site, folder) in _NOTES for run in ("a", "b"))


def _judge(difference: Difference, run: str, site: str, folder: str) -> str:
    side = difference.a if run == "a" else difference.b
    return judge_site(site, side.settings, folder)
