"""Where the command runs."""

from __future__ import annotations

from collections.abc import Sequence

from samerun.sources.source import Kind, Settings, Source, Variant


class WorkingDirectory(Source):
    """Paths that get into the data, and files that the command finds only where it usually runs."""

    id = "working-directory"
    summary = "the result depends on the folder that the command runs in, or on what earlier runs left there"
    advice = "use paths relative to the script, and read nothing that an earlier run wrote"
    kind = Kind.WORLD
    controllable = False

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """A copy of the folder, elsewhere."""
        return [Variant("a copy of the folder", likely=0.1, scratch=True)]
