"""How runs ended, in words for people."""

from __future__ import annotations

from collections.abc import Sequence

from samerun.comparing.comparison import Comparison
from samerun.experiments.launched_traceback import find_launched_traceback
from samerun.launching.standard_input import explain_unread
from samerun.launching.why_unrecorded import without_torch
from samerun.runs import untrusted
from samerun.runs.store import Run

WHOLE = {"finished", "stopped"}
_MORE_TIME = "give it more seconds, or fewer steps with --steps"
_TAIL_LINES = 5
_TAIL_BYTES = 65_536  # what torchrun and its ranks say of one failure


def is_crash(comparison: Comparison, runs: Sequence[Run]) -> bool:
    """Whether two runs part only in that one of them, or both, failed before its end."""
    difference = comparison.difference
    if difference is None or all(run.outcome in WHOLE for run in runs):
        return False
    return difference.kind == "ended" or difference.what == "end"


def failed_always(runs: Sequence[Run]) -> bool:
    """Whether the command failed in every run: what it computed until then is no result, so not judged."""
    return all(run.outcome == "failed" for run in runs)


def explain_failure(runs: Sequence[Run], parted: bool) -> str | None:
    """Why runs that failed or were ended cannot be called the same, None when none did."""
    failed = [number for number, run in enumerate(runs) if run.outcome not in WHOLE]
    if not failed:
        return None
    first = runs[failed[0]]
    if len(failed) == len(runs):
        if all(run.outcome == "timeout" for run in runs):
            came = ", ".join(f"run {n} after {_count_steps(run)}" for n, run in enumerate(runs, start=1))
            return f"every run was ended by --timeout: {came}; {_MORE_TIME}"
        if all(run.outcome == "interrupted" for run in runs):
            return f"every run was interrupted, the first of them after {_count_steps(first)}"
        unread = explain_unread()
        more = [said for said in (unread, explain_repeated_names(first)) if said is not None]
        end = "; ".join([describe_end(first), *more])
        return f"the command failed in every run: {end}"
    which = ", ".join(str(number + 1) for number in failed)
    agree = "" if parted else "; up to there the runs agree"
    return f"run {which} of {len(runs)} did not end as the others did: {describe_end(first)}{agree}"


def describe_end(run: Run) -> str:
    """How a run ended: "exit code 1 after 7 steps"."""
    after = f"after {_count_steps(run)}"
    if run.outcome == "timeout":
        return f"ended by --timeout {after}; {_MORE_TIME}"
    if run.outcome == "interrupted":  # which may have had it end with 0
        return f"interrupted {after}"
    if run.manifest.exit_code is not None and run.manifest.exit_code < 0:
        return f"killed by signal {-run.manifest.exit_code} {after}"
    absent = without_torch(run.path)
    return f"exit code {run.manifest.exit_code} {after}" + ("" if absent is None else f"; {absent}")


def explain_repeated_names(run: Run) -> str | None:
    """Why a controlled run failed that met a name, or a port, of its own making; None for others."""
    if run.outcome != "failed" or run.manifest.mode in (None, "off"):
        return None
    lines = read_last_lines_of(run)
    if any("Address already in use" in line or "EADDRINUSE" in line for line in lines):
        return (
            "where a port is drawn from random numbers, it is the same in each controlled run: bind port 0, "
            "which gives a free one, or give another --seed to what runs beside"
        )
    if not any(line.startswith("FileExistsError:") for line in lines):
        return None
    return (
        "a name that is made of uuid4(), secrets or random numbers is the same in each controlled run: "
        "move what is there away, or give another --seed"
    )


def _count_steps(run: Run) -> str:
    return f"{run.steps} step{'' if run.steps == 1 else 's'}"


def read_last_lines(runs: Sequence[Run]) -> tuple[str, ...]:
    """The last lines that the first failed run printed."""
    run = next((run for run in runs if run.outcome not in WHOLE), None)
    return () if run is None else read_last_lines_of(run)


def read_last_lines_of(run: Run) -> tuple[str, ...]:
    """The last lines that a run printed, () when its output is not there.

    Where a launcher such as torchrun speaks last: those of the traceback of the process that it launched.
    """
    try:
        text = untrusted.read_end(run.path / "output.txt", _TAIL_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ()
    except OSError as error:
        return (f"{run.path / 'output.txt'} cannot be read: {error.strerror or error}",)
    lines = [line for line in text.splitlines() if line.strip()]
    return tuple(find_launched_traceback(lines) or lines)[-_TAIL_LINES:]


def has_same_output(runs: Sequence[Run]) -> bool | None:
    """Whether all runs printed the same bytes; None when the output of one is not there."""
    try:
        digests = {untrusted.digest_file(run.path / "output.txt") for run in runs}
    except OSError:
        return None
    return len(digests) <= 1
