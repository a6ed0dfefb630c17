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
        if commands[0] == commands[1] or not all(commands):
            return None
        only = [[word for word in commands[i] if word not in commands[1 - i]] for i in (0, 1)]
        said = [" ".join(map(str, words)) or "nothing" for words in only]
        return Evidence(
            self.id, Strength.STRONG, f"only run A's command has {said[0]}, only run B's has {said[1]}"
        )
