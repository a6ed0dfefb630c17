"""The losses of each run side by side, as people print them when two runs do not agree."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

from rich.text import Text

from samerun.experiments.check.result import CheckResult

_FIRST = 4  # steps shown from the start
_BEFORE, _AFTER = 2, 3  # steps shown around the first difference
_STEP = 8  # columns for the mark and the step


def build_loss_table(result: CheckResult, width: int) -> list[Text]:
    """The lines of the table, [] when no run has a loss; `width` columns are there at most."""
    losses = result.losses
    if not any(losses):
        return []
    steps = sorted(set().union(*losses))
    parted = next((step for step in steps if _part([run.get(step, ()) for run in losses])), None)
    if result.verdict == "same" and parted is not None:
        losses, parted = losses[:1], None  # steps of threads, in another order in each run
        steps = sorted(losses[0])
    write = choose_writer(value for run in losses for step in run.values() for value in step)
    cells = {step: _write_row([run.get(step, ()) for run in losses], write) for step in steps}
    shown = _choose_steps(list(cells), parted, result)
    wide = max(len(cell) for step in shown for cell in cells[step])
    wide = max(wide, len(f"run {len(losses)}"))
    columns = _choose_columns(result, max(1, (width - _STEP) // (wide + 2)))[: len(losses)]
    lines = [_format_line("", "step", [f"run {column + 1}" for column in columns], wide, "bold")]
    last: int | None = None
    for step in shown:
        if last is not None and any(last < other < step for other in cells):
            lines.append(Text(f"  {'…':>4}", style="dim"))
        mark, style = ("→", "bold red") if step == parted else ("", "")
        lines.append(_format_line(mark, str(step), [cells[step][column] for column in columns], wide, style))
        last = step
    hidden = len(losses) - len(columns)
    if hidden:
        lines.append(
            Text(f"  ({hidden} more runs do not fit in {width} columns; --json has them all)", style="dim")
        )
    return lines


def _write_row(losses: Sequence[tuple[float, ...]], write: Callable[[float], str]) -> list[str]:
    """One loss of each run, written: the first that differs among those of the step, else the last."""
    written = [[write(value) for value in run] for run in losses]
    longest = max(map(len, written))
    at = next(
        (index for index in range(longest) if len({tuple(run[index : index + 1]) for run in written}) > 1),
        longest - 1,
    )
    return [run[at] if at < len(run) else "–" for run in written]


def _part(losses: Sequence[tuple[float, ...]]) -> bool:
    return len({tuple(map(repr, run)) for run in losses}) > 1  # by their text: nan is like nan


def choose_writer(values: Iterable[float]) -> Callable[[float], str]:
    """How to write losses so that any two that differ look different: 9 digits are enough for float32."""
    return (lambda value: f"{value:.9g}") if all(map(_is_float32, values)) else repr


def _is_float32(value: float) -> bool:
    try:
        narrow: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return False
    return narrow == value or value != value


def _choose_steps(steps: Sequence[int], parted: int | None, result: CheckResult) -> list[int]:
    first = None if result.difference is None else result.difference.step
    around = [step for step in (parted, first) if step is not None]
    shown = set(steps[:_FIRST]) | {steps[-1]}
    for middle in around:
        shown.update(step for step in steps if middle - _BEFORE <= step <= middle + _AFTER)
    return sorted(shown)


def _choose_columns(result: CheckResult, room: int) -> list[int]:
    """Which runs to show: the pair that parts first, then the others in order, as many as fit."""
    pair = [result.runs.index(run) for run in result.pair or () if run in result.runs]
    order = dict.fromkeys([*pair, *range(len(result.losses))])
    return sorted(list(order)[:room])


def _format_line(mark: str, step: str, cells: Sequence[str], wide: int, style: str) -> Text:
    body = "".join(f"  {cell:>{wide}}" for cell in cells)
    return Text(f"{mark:>1} {step:>4}{body}", style=style)
