"""The command line."""

from __future__ import annotations

from samerun.runs.difference import Difference, Evidence, Strength
from samerun.sources.source import Kind, Source


class Arguments(Source):
    """The runs were started by other commands."""

    id = "arguments"
    summary = "the runs were started with other arguments"
    advice = "start both runs with the same command"
    kind = Kind.PROVENANCE
    controllable = False

    def recognise(self, difference: Difference) -> Evidence | None:
        """The commands of the manifests are not the same."""
        commands = [list(side.manifest.get("command") or ()) for side in (difference.a, difference.b)]
        if not all(commands):
            return None
        if commands[0] == commands[1]:
            return self._seeded(difference)
        only = [[word for word in commands[i] if word not in commands[1 - i]] for i in (0, 1)]
        said = [" ".join(map(str, words)) or "nothing" for words in only]
        return Evidence(
            self.id, Strength.STRONG, f"only run A's command has {said[0]}, only run B's has {said[1]}"
        )

    def _seeded(self, difference: Difference) -> Evidence | None:
        """One command, whose program was given other arguments, by a shell script for example: a seed."""
        from samerun.sources.edits import outside_values, system_values

        if difference.a.argv == difference.b.argv:
            return None
        found = system_values.find_seed_site(
            difference, lambda code, *at: outside_values.reads_arguments(*at)
        )
        if found is None:
            return None
        seed, site = found
        text = f"{seed.name} got another seed in each run, at {seed.call_site}, from arguments at {site}"
        given = {part for word in difference.a.argv for part in word.split("=")} - set(difference.b.argv)
        is_given = seed.value is not None and f"{seed.value:.0f}" in given
        strength = Strength.SEEN if is_given else Strength.PLAUSIBLE
        return Evidence(self.id, strength, text, site, "pass the same --seed")
