"""Where the code uses what the operating system gives, and the edits that make it constant in a seed."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from samerun.editing.data_flow import Place, find_behind, find_functions, returns
from samerun.editing.edit import Edit, NoEdit
from samerun.editing.index import index
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.sources.edits import entropy, loops, run_dependent_calls, seeds
from samerun.sources.evidence import rows as _rows

# The word of the evidence that a source reads → how one sees in the code that it is read.
_READ = {
    "clock": run_dependent_calls.reads_clock,
    "identity": run_dependent_calls.reads_identity,
    "entropy": run_dependent_calls.reads_entropy,
    "system": run_dependent_calls.reads_system,
}
# What a step of an optimizer computes with, as its groups of parameters call it.
_OPTIONS = ("lr", "momentum", "weight_decay", "betas", "eps", "alpha", "dampening")
_SCHEDULES = ("LambdaLR", "MultiplicativeLR")


def fix_values(
    evidence: str, reads: Sequence[Row], why: str, difference: Difference, site: str | None, code: Code
) -> list[Edit]:
    """The edits for what the rows `reads` read, another value in each run.

    Seeds become constants; a loop that ends by the clock gets a number of rounds; what is drawn from entropy
    is drawn from a seeded generator. Raises NoEdit, which says `why`, when it is used in another way.
    """
    kind = _READ[evidence]
    reason = f"{why} (it is read at {site or 'an unknown line'})"
    edits: list[Edit] = []
    try:
        rows = _rows.list_differing(difference, "seed")
        edits += seeds.edit_each_line(rows, lambda row: _seed_call(code, row, kind))
    except NoEdit as error:
        reason = str(error)
    for at in dict.fromkeys(row.call_site for row in reads):
        edits += _read_for_seed(code, at, kind)
    if not edits and evidence == "clock":
        edits += loops.end_by_count(code, site, reads, difference.a.manifest.get("steps"))
    if not edits and evidence == "entropy":
        edits += entropy.draw_instead(code, site, reads, difference)
    if not edits:
        raise NoEdit(reason)
    return list(dict.fromkeys(edits))


def find_use(
    code: Code, evidence: str, reads: Sequence[Row], difference: Difference
) -> tuple[str, str] | None:
    """(the line that reads it, what is computed of it) where the line that differs computes with it.

    In a step of an optimizer that is what its options are set to. None where assignments, arguments and
    returns do not lead from there to one of the `reads`.
    """
    sites = _index_sites(code, reads)
    for place in _find_computed_with(code, difference):
        for found in find_behind(code, place, _READ[evidence]):
            if (site := _find_read(code, found, sites)) is not None:
                return site, place[0].said(place[1])
    return None


def _index_sites(code: Code, reads: Sequence[Row]) -> dict[str, str]:
    """The lines of the rows, by the same with a whole path: a file outside of the folder has two names."""
    return {_locate(code, row.call_site): row.call_site for row in reads if row.call_site is not None}


def _find_read(code: Code, place: Place, sites: dict[str, str]) -> str | None:
    """The one of these lines that reads what this expression is; of `status.st_mtime`, what made `status`."""
    file, node = place
    places = [place]
    if isinstance(node, ast.Attribute):
        places += find_behind(code, (file, node.value), lambda _, item: isinstance(item, ast.Call))
    lines = (sites.get(_locate(code, other.site(item.lineno))) for other, item in places)
    return next(filter(None, lines), None)


def _locate(code: Code, site: str) -> str:
    return os.path.normpath(os.path.join(code.folder, site))


class SeedParts(NamedTuple):
    """What the code makes a seed of."""

    reads: list[str]  # the lines that read the source in question
    others: list[str]  # the lines of anything else that is another one in each run


def find_seed_parts(code: Code, evidence: str, reads: Sequence[Row], seed: Row) -> SeedParts | None:
    """What the seed of a "seed" row is made of; None where the call that seeds is not found."""
    try:
        file, calls = seeds.seed_calls(code, seed, (seed.name or "",))
    except NoEdit:
        return None
    sites = _index_sites(code, reads)
    parts = SeedParts([], [])
    for call in calls:
        argument = seeds.find_argument(call)
        if argument is None:
            continue
        for other, node in find_behind(code, (file, argument), run_dependent_calls.is_run_dependent):
            if not _READ[evidence](other, node):
                parts.others.append(other.site(node.lineno))
            elif (read := _find_read(code, (other, node), sites)) is not None:
                parts.reads.append(read)
    return parts


def find_seed_site(
    difference: Difference, wanted: Callable[[Code, File, ast.expr], bool]
) -> tuple[Row, str] | None:
    """(the first seed that differs, the line of what it is made of) of those made of such an expression."""
    code = _rows.read_code(difference.a)
    for seed in _rows.list_differing(difference, "seed") if code is not None else ():
        assert code is not None
        try:
            file, calls = seeds.seed_calls(code, seed, (seed.name or "",))
        except NoEdit:
            continue
        for argument in filter(None, map(seeds.find_argument, calls)):
            for other, node in find_behind(code, (file, argument), lambda *at: wanted(code, *at)):
                return seed, other.site(node.lineno)
    return None


def _find_computed_with(code: Code, difference: Difference) -> list[Place]:
    if difference.phase == "optimizer":
        return [place for file in code.files for place in _walk_options(code, file)]
    try:
        file, found = code.expressions(difference.call_site)
    except NoEdit:
        return []
    return [(file, node) for node in found if not isinstance(file.parent(node), ast.expr)]


def _walk_options(code: Code, file: File) -> Iterator[Place]:
    """What options of optimizers are set to: as items, as arguments, or by a function of a schedule."""
    for key in _OPTIONS:
        yield from ((file, value) for value in index(file).keys[key])
    for call in file.every(ast.Call):
        yield from ((file, item.value) for item in call.keywords if item.arg in _OPTIONS)
        if get_last_name(call) in _SCHEDULES:
            for item in (*call.args, *(keyword.value for keyword in call.keywords)):
                yield file, item
                for other, function in find_functions(code, file, ast.Call(item, [], [])):
                    yield from ((other, value) for value in returns(function))


def _seed_call(code: Code, row: Row, kind: Callable[[File, ast.expr], bool]) -> list[Edit]:
    """The edits of the call that gave another seed in each run."""
    file, calls = seeds.seed_calls(code, row, (row.name or "",))
    name = seeds.GENERATORS.get(row.name or "", "")
    if ".worker" in row.process:
        return [edit for call in calls for edit in seeds.worker_seed(file, call, name)]
    return [edit for call in calls for edit in seeds.seed_alike(code, file, call, kind)]


def _read_for_seed(code: Code, site: str | None, kind: Callable[[File, ast.expr], bool]) -> list[Edit]:
    """The edits of a line that reads it to make a seed."""
    try:
        file, found = code.expressions(site)
    except NoEdit:  # read by code that has no file, or is no longer there
        return []
    return [edit for node in found if kind(file, node) for edit in seeds.fix_in_seed(file, node, kind)]
