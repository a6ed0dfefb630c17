"""Environment variables that can change the numbers of a training."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from samerun.runs.difference import Difference, Evidence, Strength
from samerun.runs.provenance import select_environment
from samerun.sources.evidence import rows, settings_diff
from samerun.sources.source import Kind, Source


class Environment(Source):
    """The variables of the allow-list, and the names of those that a script sets: no other value is kept."""

    id = "environment"
    gives = re.compile(r"os\.(getenv|environ.*)|os\._Environ.*")
    summary = "the runs had other environment variables"
    advice = "start both runs with the same variables: env NAME=VALUE python train.py"
    kind = Kind.PROVENANCE
    controllable = False

    def describe(self) -> Mapping[str, Any]:
        """Those that are set."""
        return select_environment(os.environ)

    def recognise(self, difference: Difference) -> Evidence | None:
        """One that was set otherwise; the variables of other sources are left to them."""
        from samerun.sources.catalogue import find_sources

        elsewhere = {name for source in find_sources().values() for name in source.variables}
        a, b = (
            side.settings.get(self.id) or side.manifest.get("environment") or {}
            for side in (difference.a, difference.b)
        )
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
        for name in outside_values.list_variables(code, site) if code is not None else ():
            script = shell_scripts.find_variable(difference, name)
            if script is not None:
                text, site = f"{text}: {script.site} sets {name} to {script.read}", script.site
                break
        return Evidence(self.id, Strength.STRONG, text, site)

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
            return Evidence(self.id, strength, text, place if script is None else script.site)
        return None
