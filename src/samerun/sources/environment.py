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
    """The variables of the allow-list; no other is looked at, so that no secret is kept."""

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
        from samerun.sources.edits import outside_values, shell_scripts, system_values

        elsewhere = {name for source in find_sources().values() for name in source.variables}
        a, b = (
            side.settings.get(self.id) or side.manifest.get("environment") or {}
            for side in (difference.a, difference.b)
        )
        changed = settings_diff.describe_changed(a, b, tuple(sorted({*a, *b} - elsewhere)))
        if changed is not None:
            return Evidence(self.id, Strength.STRONG, changed)
        equal = {name for name in a if name in b}  # they would have been said to differ
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
