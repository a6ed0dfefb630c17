"""Progress while runs are recorded: one live line on a terminal, one line for each run elsewhere."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from samerun.experiments.progress import Listener
from samerun.report.console import make_console
from samerun.report.safe_text import Line, clean, style_text, wrap_lines

_UNSAID = 10  # runs that may be made without a word on how many more there may be
_STOP = "Ctrl-C stops, and keeps what is there"


class Progress(Listener):
    """Shows progress on standard error, so that standard output holds the result alone.

    A context manager; `runs` holds the runs that are on disk, in order: id to outcome. `interim` makes lines
    of a result that is not final: they stand above the live line, or are printed once.
    """

    def __init__(
        self,
        to: Console | None = None,
        interim: Callable[[Any], Iterable[Line]] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.runs: dict[str, str] = {}
        self._console = make_console(sys.stderr) if to is None else to
        self._interim = interim
        self._live: Live | None = None
        self._above: Sequence[Text] = ()
        self._stage = ""
        self._now = now  # in seconds
        self._run = ""
        self._done = ""  # how far it is
        self._began = 0.0
        self._steps: int | None = None
        self._seconds: list[float] = []  # of each run
        self._ahead = 0  # runs that were announced, and are to come
        self._unsaid = 0  # runs made since the last word on how many there may be
        self._left = 0  # runs to come in this stage, with the one that is running

    def __enter__(self) -> Progress:
        if self._console.is_interactive:
            self._live = Live(
                get_renderable=self._draw, console=self._console, transient=True, refresh_per_second=8
            )
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            if kind is KeyboardInterrupt:
                self._print(*self._above)  # what was measured is not lost

    def ahead(self, runs: int) -> None:
        """Say how many runs may come, and how long they would take, where that is not a moment's work."""
        self._ahead = runs
        self._unsaid = 0
        if runs > _UNSAID:
            each = self._typical()
            time = f", {_format_duration(each)} each: {_format_duration(runs * each)}" if each else ""
            self._say(f"about {runs} runs to come{time}; {_STOP}")

    def stage(self, text: str) -> None:
        """Begin a new part of the work."""
        self._stage = text

    def run_started(self, number: int, of: int, steps: int | None) -> None:
        """Begin the line of one run."""
        if self._unsaid == _UNSAID and not self._ahead:
            self._unsaid = 0
            spent = _format_duration(sum(self._seconds))
            self._say(f"{len(self._seconds)} runs so far, {spent}; the search goes on. {_STOP}")
        self._run = f"{self._stage}: run {number} of {of}"
        self._steps = steps
        self._left = self._ahead or of - number + 1
        self._done, self._began = "starting", self._now()

    def progress(self, step: int, loss: float | None, elapsed: float) -> None:
        """Keep what the line says."""
        of = f" of {self._steps}" if self._steps else ""
        seen = "" if loss is None else f", loss {loss:.6g}"
        self._done, self._began = f"step {step}{of}{seen}", self._now() - elapsed

    def run_ended(self, run: str, steps: int, outcome: str, elapsed: float) -> None:
        """Leave a line that says how the run ended."""
        self.runs[run] = outcome
        self._seconds.append(elapsed)
        self._unsaid += 1
        self._ahead = max(self._ahead - 1, 0)
        self._say(
            f"{self._run}: {outcome}, {steps} step{'' if steps == 1 else 's'}, {_format_duration(elapsed)}"
        )

    def so_far(self, result: object) -> None:
        """Show what is known by now."""
        if self._interim is None:
            return
        first = not self._above
        self._above = list(wrap_lines(self._interim(result), self._console))
        if self._live is None and first:
            self._print(*self._above)

    def _typical(self) -> float:
        """The seconds of a run, as far as known."""
        return statistics.median(self._seconds) if self._seconds else 0.0

    def _draw(self) -> Group:
        """The live part: what is above it, and how long the run takes, also while it says nothing."""
        if not self._run:
            return Group(*self._above)
        left, elapsed = "", self._now() - self._began
        if each := self._typical():
            seconds = _format_duration(max(self._left * each - elapsed, 0.0))
            left = f"; about {seconds} left" + ("" if self._ahead else " in this part")
        said = f"{clean(self._run)}: {clean(self._done)}, {_format_duration(elapsed)}{left}; {_STOP}"
        return Group(*self._above, Text(said, no_wrap=True, overflow="ellipsis"))

    def _say(self, text: str) -> None:
        self._print(style_text(text, "dim"))

    def _print(self, *lines: Text) -> None:
        for line in lines:
            self._console.print(line, soft_wrap=True)


def _format_duration(seconds: float) -> str:
    """12.3 s, 4 min 05 s or 2 h 07 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
