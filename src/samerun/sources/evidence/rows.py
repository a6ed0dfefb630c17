"""Reading the evidence of two runs side by side."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from samerun.runs.difference import Difference, Row, Side
from samerun.runs.schema import HELPER, takes_tasks
from samerun.runs.source_lines import parse_site, read_line

if TYPE_CHECKING:
    from samerun.editing.user_program import Code

Pair = tuple[Row | None, Row | None]
_Key = tuple[str | bytes | None, ...]
_BRANCHES = re.compile(r"^\s*(while|if|elif)\b|(\breturn|[^<>=!]=)\s.*\s[<>]=?\s")
_PROGRAM = re.compile(rf"\.{HELPER}[0-9a-f]{{8}}\b")  # named by what it was started with
NEAR = 10  # lines between a read and the seeding that it feeds


def match_pairs(difference: Difference, what: str, name: str | None = None) -> Iterator[Pair]:
    """The rows of one kind of both runs, matched by process, name and line, in the order of each.

    Files are matched by their path first: opened in another order they are still the same. So are seeds, by
    what they are, where several threads, or several workers of a pool, may give them. Rows that only one of
    the runs has come with None.
    """
    rows, left = difference.a.rows(what, name), difference.b.rows(what, name)
    others: list[Row | None] = [None] * len(rows)
    for key in _list_keys(difference, what):
        waiting: dict[_Key, deque[Row]] = defaultdict(deque)
        for row in left:
            waiting[key(row)].append(row)
        for number, row in enumerate(rows):
            if others[number] is None and waiting[key(row)]:
                others[number] = waiting[key(row)].popleft()
        taken = set(map(id, others))
        left = [row for row in left if id(row) not in taken]
    yield from zip(rows, others, strict=True)
    yield from ((None, row) for row in left)


def _list_keys(difference: Difference, what: str) -> list[Callable[[Row], _Key]]:
    if what == "opened":
        return [_key_by_file, _key]
    if what == "seed" and any(takes_tasks(row.process) for row in difference.a.rows("seed")):
        by_task = list_seeded_by_task(difference)  # what is left is of tasks that only one run has noted

        def key_of_left(row: Row) -> _Key:
            return _key_of_task(row) if row.name in by_task else _key_of_pool(row)

        return [_key_of_task, key_of_left]
    if what == "seed" and difference.a.rows("threads"):
        return [_key_by_value, _key]
    return [_key]


def list_seeded_by_task(difference: Difference) -> set[str | None]:
    """The functions with which tasks of a pool seed, each by what it is given: it draws alike in any worker.

    The seeds of tasks that both runs noted are the same, and there are many more of them than workers.
    """
    a, b = (
        [row for row in side.rows("seed") if takes_tasks(row.process)]
        for side in (difference.a, difference.b)
    )
    workers = len({row.process for row in a})
    found = set()
    for name in {row.name for row in a}:
        seeds, others = ({row.digest for row in rows if row.name == name} for rows in (a, b))
        least = min(len(seeds), len(others))
        if least > 2 * workers and 2 * len(seeds & others) >= least:
            found.add(name)
    return found


def _key(row: Row) -> _Key:
    return row.process, row.name, row.call_site


def _key_by_file(row: Row) -> _Key:
    return (*_key(row), row.detail)


def _key_of_pool(row: Row) -> _Key:
    """That of a worker of a pool is that of any: which one takes a task is decided anew in each run."""
    return "" if takes_tasks(row.process) else row.process, row.name, row.call_site


def _key_of_task(row: Row) -> _Key:
    return (*_key_of_pool(row), row.digest)


def _key_by_value(row: Row) -> _Key:
    return (*_key(row), row.digest)


def find_first_differing(difference: Difference, what: str, name: str | None = None) -> Row | None:
    """Run A's first row whose digest (or, without one, value) is another in run B."""
    for a, b in match_pairs(difference, what, name):
        if a is not None and b is not None and (a.digest, a.value) != (b.digest, b.value):
            return a
    return None


def is_reordered(difference: Difference, row: Row) -> bool:
    """Whether the line of this row has the same values in both runs, in another order."""

    def count(side: Side) -> Counter[tuple[bytes | None, float | None]]:
        of_line = (other for other in side.rows(row.what, row.name) if other.call_site == row.call_site)
        return Counter((other.digest, other.value) for other in of_line)

    counts = count(difference.a), count(difference.b)
    return counts[0] == counts[1] and len(counts[0]) > 1


def find_setting(difference: Difference, source: str) -> str | None:
    """The line at which run A's script last changed what a source says of itself, where it did."""
    lines = [row.call_site for row in difference.a.rows("setting", source) if row.call_site is not None]
    return lines[-1] if lines else None


def list_unequal(difference: Difference, what: str) -> list[Row]:
    """Run A's rows, but those of which the same row of run B has the same digest."""
    return [
        a
        for a, b in match_pairs(difference, what)
        if a is not None and (b is None or a.digest is None or a.digest != b.digest)
    ]


def is_first_draw(side: Side, draw: Row) -> bool:
    """Whether a draw found its generator in the state with which the process began: nobody had seeded it."""
    states = (row for row in side.rows("rng", draw.name) if row.process == draw.process)
    first = next(states, None)
    return first is not None and draw.inputs == int.from_bytes((first.digest or b"")[:8], "little")


def is_of_a_start(row: Row) -> bool:
    """Whether it is of a thread or process that was started, or of a seed."""
    return row.what in ("threads", "seed")


def is_in_helper(row: Row) -> bool:
    """Whether a program wrote it that the command runs and that never trains."""
    return f".{HELPER}" in row.process


def is_in_program(row: Row) -> bool:
    """The same, but for processes that another one is divided into (by multiprocessing)."""
    return _PROGRAM.search(row.process) is not None


def find_made_by_helper(difference: Difference) -> Row | None:
    """Run A's writing, in a program that does not train, of a file that the training found otherwise in B."""
    changed = {
        a.detail
        for a, b in match_pairs(difference, "opened")
        if a is not None and b is not None and a.detail == b.detail and a.digest != b.digest
    }
    made = (row for row in difference.a.rows("written") if row.detail in changed and is_in_helper(row))
    return next(made, None)


def list_racing(difference: Difference, what: str) -> list[Row]:
    """Run A's rows of what races; of a program that does not train, where such a one made what differs."""
    found = difference.a.rows(what)
    made = find_made_by_helper(difference)
    return [row for row in found if made is not None or not is_in_helper(row)]


def has_raced(difference: Difference) -> bool:
    """Whether the training took something as it came: from several threads, or as results were ready."""
    threads = list_racing(difference, "threads")
    return any((row.value or 0) > 1 for row in threads) or bool(list_racing(difference, "arrival"))


def count_lines_before(row: Row, seed: Row) -> int:
    """How many lines a read stands before a seeding in the same file and process; very many elsewhere."""
    read, at = parse_site(row.call_site), parse_site(seed.call_site)
    if read is None or at is None or read[0] != at[0] or row.process != seed.process or read[1] > at[1]:
        return 10**9
    return at[1] - read[1]


def has_branch(side: Side, site: str | None) -> bool:
    """Whether a line of the user's code takes one way or another, or compares."""
    return _BRANCHES.search(read_source_line(side, site)) is not None


def read_source_line(side: Side, site: str | None) -> str:
    """The text of a line of the user's code, "" when it cannot be read."""
    folder = side.manifest.get("cwd")
    return read_line(site, folder) if isinstance(folder, str) else ""


def read_code(side: Side, files: Collection[str] | None = None) -> Code | None:
    """The user's files that ran (or these) as they are now, None when it is not known where they are."""
    from samerun.editing.user_program import Code

    folder = side.manifest.get("cwd")
    if not isinstance(folder, str):
        return None
    command = tuple(map(str, side.manifest.get("command") or ()))
    return Code(
        Path(folder), command, dict.fromkeys(side.settings.get("code", {}) if files is None else files, "")
    )


def has_agreed(difference: Difference, generator: str) -> bool:
    """Whether a generator was in the same state at some time: only how often it was drawn from differs."""
    return generator in difference.agreed


def has_rng_difference(difference: Difference) -> bool:
    """Whether the state of a generator that was drawn from differed by then, and had from its beginning.

    Not where the operation that differs drew from one whose state was equal: more of it, or fewer.
    """
    origin = difference.origin
    if origin is not None and origin.draws and origin.generator_differs is False:
        return False
    never = difference.step + 1
    drawn = (id_ for id_ in difference.drawn if not has_agreed(difference, id_))
    return any(difference.rng_first.get(id_, never) < never for id_ in drawn)


def is_of_data(difference: Difference) -> bool:
    """Whether what differs comes before a model computes: the setup, a batch, what a model is given first."""
    return difference.phase in ("setup", "data") or difference.what in ("batch", "input")


def is_explained(difference: Difference) -> bool:
    """Whether a generator, a file or a folder differed first.

    That another file of the same folder was read is none of these: something chose it.
    """
    if has_rng_difference(difference) or find_first_differing(difference, "listing") is not None:
        return True
    return any(
        (a.digest, a.value) != (b.digest, b.value)
        and (a.detail == b.detail or os.path.dirname(a.detail or "") != os.path.dirname(b.detail or ""))
        for a, b in match_pairs(difference, "opened")
        if a is not None and b is not None
    )


def has_changed_file(difference: Difference) -> bool:
    """Whether a file that both runs read held something else in each: in whatever order they read them.

    Not one that a program that does not train made in each of them: the reason is to be found there.
    """
    a, b = ({row.detail: row.digest for row in side.rows("opened")} for side in (difference.a, difference.b))
    made = list_made_by_helpers(difference)
    return any(digest != b[path] for path, digest in a.items() if path in b and path not in made)


def list_made_by_helpers(difference: Difference) -> set[str | None]:
    """The files that programs that do not train wrote in both runs."""
    made = [
        {row.detail for row in side.rows("written") if is_in_helper(row)}
        for side in (difference.a, difference.b)
    ]
    return made[0] & made[1]


def list_differing(difference: Difference, what: str, names: Collection[str] | None = None) -> list[Row]:
    """Run A's rows (of these names) whose digest or value is another in run B, one for each line of code."""
    found: dict[tuple[str | None, str | None], Row] = {}
    for a, b in match_pairs(difference, what):
        if a is None or b is None or (names is not None and a.name not in names):
            continue
        if (a.digest, a.value) != (b.digest, b.value):
            found.setdefault((a.name, a.call_site), a)
    return list(found.values())
