"""What a verb tells whoever watches it. The default listens to nothing."""

from __future__ import annotations


class Listener:
    """Told of progress, in order; a report overrides what it shows."""

    def ahead(self, runs: int) -> None:
        """About `runs` more runs are to be made."""

    def stage(self, text: str) -> None:
        """A new part of the work begins, such as "recording" or "confirming torch-cpu"."""

    def run_started(self, number: int, of: int, steps: int | None) -> None:
        """Run `number` of `of` starts (1-based); `steps` is how many are expected, once known."""

    def progress(self, step: int, loss: float | None, elapsed: float) -> None:
        """`step` optimizer steps are complete after `elapsed` seconds; the last loss, where one is known."""

    def run_ended(self, run: str, steps: int, outcome: str, elapsed: float) -> None:
        """The run of this id is whole on disk."""

    def so_far(self, result: object) -> None:
        """What is known by now: a result like the one that the verb will return."""
