"""Environment variables that can change the numbers of a training."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from samerun import lineage, set_variables
from samerun.answers import Answers
from samerun.errors import RunError
from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.provenance import select_environment
from samerun.sources.evidence import rows, settings_diff
from samerun.sources.source import Kind, Source, Undo

_NUMBER = re.compile(r"[-+]?\d{1,20}(\.\d{1,20})?")
_NOW = re.compile(r"PORT|PID|ADDR|HOST|JOB|(^|_)FD", re.IGNORECASE)


class Environment(Source):
    """The variables of the allow-list, and those that a script sets to numbers; no other value is kept."""

    id = "environment"
    gives = re.compile(r"os\.(getenv|environ.*)|os\._Environ.*")
    summary = "the runs had other environment variables"
    advice = "start both runs with the same variables: env NAME=VALUE python train.py"
    kind = Kind.PROVENANCE
    controllable = False

    def replay(self, answers: Answers) -> Undo | None:
        """Keep the numbers that a script of the command set; in a replay, give those of the recorded run.

        As of arguments: not what a program of Python under samerun passes on. Nor a port, a process or an
        address, which must be one that is there now.
        """
        if lineage.find_parent_path(os.getppid()) is not None:
            return None
        others = _list_variables_of_others()
        for name in set_variables.get_set():
            now = os.environ.get(name, "")
            if name in others or _NOW.search(name) or not _NUMBER.fullmatch(now):
                continue
            had = answers.recall(self.id, name)
            value = had if isinstance(had, str) else now
            if value != now:
                os.environ[name] = value
            answers.keep(self.id, name, value, given=value != now)
        return None

    def describe(self) -> Mapping[str, Any]:
        """Those that are set."""
        return select_environment(os.environ)

    def recognise(self, difference: Difference) -> Evidence | None:
        """One that was set otherwise; the variables of other sources are left to them."""
        elsewhere = _list_variables_of_others()
        sides = (difference.a, difference.b)
        started = [side.manifest.get("environment") or {} for side in sides]
        a, b = (side.settings.get(self.id) or env for side, env in zip(sides, started, strict=True))
        if not all(side.settings for side in sides):  # one said nothing: it ended before its first step
            a, b = started
        changed = settings_diff.describe_changed(a, b, tuple(sorted({*a, *b} - elsewhere)))
        if changed is not None:
            return Evidence(self.id, Strength.STRONG, changed)
        equal = {name for name in a if name in b}  # they would have been said to differ
        return self._seeded(difference, equal) or self._set_by_script(difference, elsewhere)

    def _seeded(self, difference: Difference, equal: set[str]) -> Evidence | None:
        """A seed that differs is made of a variable that is not among those `equal` in both runs."""
        from samerun.sources.edits import outside_values, shell_scripts, system_values

        found = system_values.find_seed_site(
            difference, lambda code, file, node: outside_values.reads_environment(file, node, equal)
        )
        if found is None:
            return None
        seed, site = found
        text = (
            f"{seed.name} was given another seed in each run, at {seed.call_site}, from a variable at {site}"
        )
        code = rows.read_code(difference.a)
        names = outside_values.list_variables(code, site) if code is not None else []
        of_script = [name for name in names if name in difference.a.variables]
        beyond = bool(of_script) and not all(_is_kept(difference, name) for name in of_script)
        advice = None
        for name in names:
            script = shell_scripts.find_variable(difference, name)
            if script is not None:
                text, site = f"{text}: {script.site} sets {name} to {script.read}", script.site
                advice = _advise(name, script.site)
                break
        return Evidence(self.id, Strength.STRONG, text, site, advice, beyond_control=beyond)

    def _set_by_script(self, difference: Difference, elsewhere: set[str]) -> Evidence | None:
        """The command sets a variable to another value in each run, and the code or a file names it."""
        from samerun.sources.edits import outside_values, shell_scripts

        a, b = difference.a.variables, difference.b.variables
        for name in a:
            if name in elsewhere or a[name] == b.get(name, a[name]):
                continue
            place = outside_values.find_name(difference, name)
            script = shell_scripts.find_variable(difference, name)
            if place is None:
                continue
            by = "" if script is None else f" by {script.site}, from {script.read}"
            text = f"{name} was set to another value in each run{by}, and {place} names it"
            strength = Strength.FAIR if rows.find_first_differing(difference, "seed") else Strength.PLAUSIBLE
            site, advice = (place, None) if script is None else (script.site, _advise(name, script.site))
            return Evidence(
                self.id, strength, text, site, advice, beyond_control=not _is_kept(difference, name)
            )
        return None


def _advise(name: str, site: str | None) -> str | None:
    return f"{name}=1  # at {site}: one value for all runs" if site is not None else None


def _is_kept(difference: Difference, name: str) -> bool:
    """Whether its value is there, for all that is known, to be given to another run: no text is."""
    from samerun.runs.answers import read_all_answers

    run = (difference.a.manifest.get("plan") or {}).get("run")
    if not isinstance(run, str):
        return True
    try:
        answers = read_all_answers(Path(run))
        return any((answer.source, answer.name) == (Environment.id, name) for answer in answers)
    except RunError:
        return False


def _list_variables_of_others() -> set[str]:
    """Those that other sources take care of."""
    from samerun.sources.catalogue import find_sources

    return {name for source in find_sources().values() for name in source.variables}
