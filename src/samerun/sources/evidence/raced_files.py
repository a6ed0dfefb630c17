"""Files that one process of a run writes while another one of the same run reads them."""

from __future__ import annotations

from samerun.runs.difference import Difference, Row, Side
from samerun.sources.evidence.rows import has_rng_difference, is_in_helper


def find_writer(side: Side, read: Row) -> Row | None:
    """Where another process of the same run wrote a file that is read, no later than that; None: none did.

    Such a file is not what an earlier run left. Processes are compared by their steps: which comes first
    within one is not known.
    """
    others = (row for row in (*side.evidence, *side.elsewhere) if row.what == "written")
    found = (row for row in others if row.process != read.process and row.detail == read.detail)
    return next((row for row in found if not is_in_helper(row) and _get_time(row) <= _get_time(read)), None)


def is_written_by_child(side: Side, read: Row) -> bool:
    """Whether a process that the reading one started, and that trained, wrote it.

    Which came first is not known: the workers of a pool count steps of their own.
    """
    return any(
        row.what == "written"
        and row.detail == read.detail
        and row.process.startswith(f"{read.process}.")
        and not is_in_helper(row)
        for row in (*side.evidence, *side.elsewhere)
    )


def find_raced(difference: Difference) -> tuple[Row, Row] | None:
    """(the last reading that only one run made so, where another rank wrote the file); None: none."""
    if has_rng_difference(difference):
        return None  # other files may be read because another order was drawn
    raced: list[tuple[Row, Row]] = []
    for side, other in ((difference.b, difference.a), (difference.a, difference.b)):
        theirs = {_get_content(row) for row in other.rows("opened")}
        for row in side.rows("opened"):
            writer = find_writer(Side(elsewhere=side.elsewhere), row)
            if row.process == difference.process and writer is not None and _get_content(row) not in theirs:
                raced.append((row, writer))
    return max(raced, key=lambda both: both[0].step, default=None)


def is_read_by_both(difference: Difference, read: Row) -> bool:
    """Whether both runs read it in that step, each with other content, which may be its writer's doing."""
    sides = (difference.a, difference.b)
    return all(
        any((row.detail, row.step) == (read.detail, read.step) for row in side.rows("opened"))
        for side in sides
    )


def _get_time(row: Row) -> tuple[int, bool]:
    return row.step, row.phase != "setup"


def _get_content(row: Row) -> tuple[object, ...]:
    return row.process, row.detail, row.step, row.digest, row.value
