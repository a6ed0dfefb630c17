"""Files that the first run leaves and the second one finds: checkpoints, caches, logs that are read back."""

from __future__ import annotations

from collections.abc import Mapping

from samerun.runs.difference import Difference, Evidence, Row, Side, Strength
from samerun.runs.schema import WORKER, takes_tasks
from samerun.sources.evidence import rows
from samerun.sources.evidence.raced_files import find_writer, is_written_by_child
from samerun.sources.evidence.rows import is_in_helper
from samerun.sources.source import Kind, Source


class ResumeState(Source):
    """The second run goes on from what the first one wrote, or reads a cache that the first one made."""

    id = "resume-state"
    summary = "one run read a file that the other one had left behind"
    advice = "start from an empty folder: remove old checkpoints and caches, or use samerun check --scratch"
    kind = Kind.WORLD
    in_folder = True
    controllable = False

    def recognise(self, difference: Difference) -> Evidence | None:
        """Run B opened, unwritten by itself, a file that A wrote and did not find, or found otherwise.

        Or it found more in a folder, and a seed was made of that: the number of runs so far.
        """
        origin = difference.origin
        if origin is not None and origin.inputs_equal and not origin.draws_other_size:
            return _recognise_counted(difference) if origin.draws else None
        a, b = _list_found(difference.a), _list_found(difference.b)
        path = _find_left(difference, a, b)
        if path is not None:
            text = f"run B read {path}, which run A had written"
            return Evidence(self.id, Strength.SEEN, text, b[path].call_site)
        counted = _recognise_counted(difference)
        if counted is not None:
            return counted
        if rows.has_rng_difference(difference):
            return None  # other files may be read because another order was drawn
        for path, row in b.items():
            if path not in a and path not in _list_paths(difference.a) and not _is_shared(row):
                # run A read nothing that B did not: B found more, rather than the same in another order
                strength = Strength.STRONG if a.keys() <= b.keys() else Strength.LAST_RESORT
                text = f"run B read {path} by then, and run A did not"
                return Evidence(self.id, strength, text, row.call_site)
        return None


def _is_shared(row: Row) -> bool:
    """Whether workers share what is read: how far each has come by then is no sign of another run."""
    return f".{WORKER}" in row.process or takes_tasks(row.process)


def _find_left(difference: Difference, a: Mapping[str, Row], b: Mapping[str, Row]) -> str | None:
    """The first file that run A left for B, but one that A itself read as B found it, if there is another.

    Such a cache gave both runs the same, though A drew, perhaps, what it needed to make it. A file that each
    run made before, by a program that does not train, was not left.
    """
    written = {row.detail for row in difference.a.rows("written") if not is_in_helper(row)}
    read = {(row.detail, row.digest, row.value) for row in difference.a.rows("opened") if row.digest}
    anew = rows.list_made_by_helpers(difference) & a.keys()
    left = [
        path
        for path, row in b.items()
        if path in written - anew
        and (path not in a or (a[path].digest, a[path].value) != (row.digest, row.value))
    ]
    return min(left, key=lambda path: (path, b[path].digest, b[path].value) in read, default=None)


def _recognise_counted(difference: Difference) -> Evidence | None:
    seed = rows.find_first_differing(difference, "seed")
    if seed is None:
        return None
    for a, b in rows.match_pairs(difference, "listing"):
        more = a is not None and b is not None and a.detail == b.detail and a.inputs != b.inputs
        if a is not None and more and rows.count_lines_before(a, seed) <= rows.NEAR:
            said = f"{seed.name} was given another seed in each run, at {seed.call_site}"
            text = f"{said}, and {a.call_site} just before lists {a.detail}, where run B found other names"
            return Evidence(ResumeState.id, Strength.STRONG, text, a.call_site)
    return None


def _list_found(side: Side) -> dict[str, Row]:
    """The files that a run read without having written them before, by path.

    Not what another process of the same run wrote: no earlier run left that.
    """
    made: set[str] = set()
    found: dict[str, Row] = {}
    for row in side.evidence:
        if row.detail is None or row.detail.endswith((".py", ".pyc")) or is_in_helper(row):
            continue  # a helper's rows are not in one order with these
        if row.what == "written":
            made.add(row.detail)
        elif row.what == "opened" and row.detail not in made and not _is_written_elsewhere(side, row):
            found.setdefault(row.detail, row)
    return found


def _is_written_elsewhere(side: Side, read: Row) -> bool:
    return find_writer(side, read) is not None or is_written_by_child(side, read)


def _list_paths(side: Side) -> set[str | None]:
    return {row.detail for row in side.rows("opened")}
