"""Progress while runs are recorded: one live line on a terminal, one line for each run elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from samerun.experiments.progress import Listener
from samerun.report.console import make_console
from samerun.report.safe_text import clean, style_text


class Progress(Listener):
    """Shows progress on standard error, so that standard output holds the result alone.

    A context manager; `runs` holds the runs that are on disk, in order: id to outcome.
    """

    def __init__(self, to: Console | None = None) -> None:
        self.runs: dict[str, str] = {}
        self._console = make_console(sys.stderr) if to is None else to
        self._live: Live | None = None
        self._stage = ""
        self._run = ""
        self._steps: int | None = None

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            self._live = Live(Text(), console=self._console, transient=True, refresh_per_second=8)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def stage(self, text: str) -> None:
        """Begin a new part of the work."""
        self._stage = text

    def run_started(self, number: int, of: int, steps: int | None) -> None:
        """Begin the line of one run."""
        self._run = f"{self._stage}: run {number} of {of}"
        self._steps = steps
        self._update("starting")

    def progress(self, step: int, loss: float | None, elapsed: float) -> None:
        """Refresh the line."""
        of = f" of {self._steps}" if self._steps else ""
        seen = "" if loss is None else f", loss {loss:.6g}"
        self._update(f"step {step}{of}{seen}, {_format_duration(elapsed)}")

    def run_ended(self, run: str, steps: int, outcome: str, elapsed: float) -> None:
        """Leave a line that says how the run ended."""
        self.runs[run] = outcome
        said = f"{self._run}: {outcome}, {steps} step{'' if steps == 1 else 's'}, {_format_duration(elapsed)}"
        self._console.print(style_text(said, "dim"), soft_wrap=True)

    def _update(self, text: str) -> None:
        if self._live is not None:
            line = Text(f"{clean(self._run)}: {clean(text)}", no_wrap=True, overflow="ellipsis")
            self._live.update(line)


def _format_duration(seconds: float) -> str:
    """12.3 s, 4 min 05 s or 2 h 07 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
