"""The edits that seed one of the global generators."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import replace

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import Change, Edit, NoEdit, Opening
from samerun.editing.edit_builders import insert_after
from samerun.editing.import_names import write_name
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.sources.edits import run_dependent_calls, seeds
from samerun.sources.edits.ranks import has_ranks
from samerun.sources.evidence import rows as _rows

_OF_TORCH = "torch.manual_seed"


def seed_global(
    id_: str, function: str, names: Sequence[str], difference: Difference, code: Code, given: Row | None
) -> Sequence[Edit]:
    """A seed for the generator `id_`, by `function`: in the script's own calls, else after its imports.

    `names` are its functions as they stand in "seed" rows; `given` is the row of one that was given another
    seed in each run. Raises NoEdit.
    """
    unseeded = [
        row for row in difference.a.rows("unseeded", id_) if row.detail is None
    ]  # not looked at alone

    def without(row: Row) -> list[Edit]:
        file, calls = seeds.seed_calls(code, row, (function, "torch.seed", "torch.random.seed"))
        return [
            edit for call in calls for edit in _seed_call(code, file, call, id_, ".worker" in row.process)
        ]

    def otherwise(row: Row) -> list[Edit]:
        file, calls = seeds.seed_calls(code, row, (function, *names))
        return [
            edit
            for call in calls
            for edit in seeds.seed_alike(code, file, call, run_dependent_calls.is_run_dependent)
        ]

    edits = seeds.edit_each_line(unseeded, without)
    if given is not None:
        seedings = _rows.list_differing(difference, "seed", names)
        others = [row for row in seedings if not _is_drawn(id_, code, row, (function, *names), difference)]
        edits += seeds.edit_each_line(others, otherwise)
    needed = not edits or _draws_before(id_, unseeded, difference)
    if id_.startswith("torch-"):
        own = _own_generators(code)
        needed = needed and not (own and seeds.is_seeded(difference, "torch.manual_seed"))
        edits += own
    draw = _rows.find_first_differing(difference, "draw", id_)
    site = draw.call_site if draw is not None and _rows.is_in_helper(draw) else None
    if not needed:
        return edits
    beside = _seed_beside(id_, function, difference, code) if site is None else None
    if beside is not None:
        return [*edits, beside]
    by_option = _seed_by_option(function, difference, code) if site is None else []
    return [*edits, *by_option, Opening(function, "(0)", site=site)]


def _seed_beside(id_: str, function: str, difference: Difference, code: Code) -> Change | None:
    """A line after the one that seeds torch once, with that same seed, where it is no constant.

    So runs with other seeds differ in all of it. None where the generator is drawn from before, and on
    ranks, which need numbers of their own.
    """
    evidence = list(difference.a.evidence)
    places = [at for at, row in enumerate(evidence) if row.what == "seed" and row.name == _OF_TORCH]
    draws = [at for at, row in enumerate(evidence) if row.what == "draw" and row.name == id_]
    if len(places) != 1 or not draws or draws[0] < places[0]:
        return None
    drawn = _rows.find_first_differing(difference, "seed", _OF_TORCH) is not None
    if drawn or has_ranks(difference, code):
        return None
    try:
        file, calls = seeds.seed_calls(code, evidence[places[0]], (_OF_TORCH,))
    except NoEdit:
        return None
    return _repeat_seed(function, file, calls)


def _seed_by_option(function: str, difference: Difference, code: Code) -> list[Edit]:
    """The same beside a line of the script that did not run: it seeds torch where an option is given.

    With that option all of the run is to have that seed, not torch alone. Nothing where it has it already.
    """
    seeded = any(row.name == _OF_TORCH for row in difference.a.rows("seed"))
    if function == _OF_TORCH or seeded or has_ranks(difference, code):
        return []
    try:
        file = code.main
    except NoEdit:
        return []
    found = [node for node in ast.walk(file.tree) if isinstance(node, ast.Call)]
    if any(file.called(call) == function for call in found):  # it has that line
        return []
    change = _repeat_seed(function, file, [call for call in found if file.called(call) == _OF_TORCH])
    return [] if change is None else [change]


def _repeat_seed(function: str, file: File, calls: Sequence[ast.Call]) -> Change | None:
    """A line after the one call that seeds torch, with its seed; None where that is written as a number."""
    if len(calls) != 1:
        return None
    call = calls[0]
    statement, seed = file.statement(call), seeds.find_argument(call)
    if seed is None or not isinstance(statement, ast.Expr) or statement.value is not call:
        return None
    if not isinstance(seed, (ast.Name, ast.Attribute)):
        return None
    text, missing = write_name(file, function, call)
    change = insert_after(file, statement, f"{text}({file.said(seed)})")
    return replace(change, imports=missing)


def _is_drawn(id_: str, code: Code, seeding: Row, names: Sequence[str], difference: Difference) -> bool:
    """Whether the seed of a line is a number drawn before: that generator is to be seeded, and no line more.

    Raises NoEdit where it is another generator than `id_`.
    """
    draws = {row.call_site: row for row in difference.a.rows("draw")}
    file, calls = seeds.seed_calls(code, seeding, names)
    given = [found for call in calls if (found := seeds.find_argument(call)) is not None]
    for found in given:
        for other, node in find_behind(code, (file, found), lambda *at: _is_at(draws, *at)):
            draw = draws[other.site(node.lineno)]
            if draw.name == id_:
                return True
            raise NoEdit(f"the seed at {seeding.call_site} is drawn at {draw.call_site}: seed {draw.name}")
    return False


def _is_at(sites: Collection[str | None], file: File, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and file.site(node.lineno) in sites


def _seed_call(code: Code, file: File, call: ast.Call, id_: str, in_worker: bool) -> list[Edit]:
    """A seed for a call that seeds without one."""
    if in_worker:
        return seeds.worker_seed(file, call, id_)
    if id_.startswith("torch-"):
        return seeds.seed_torch(file, call)
    return seeds.give_seed(code, file, call, "0")


def _own_generators(code: Code) -> list[Edit]:
    """`generator.seed()`, of a torch.Generator that the script made, becomes `generator.manual_seed(0)`."""
    edits: list[Edit] = []
    for file in code.files:
        for call in file.every(ast.Call):
            if get_last_name(call) != "seed" or call.args or not isinstance(call.func, ast.Attribute):
                continue
            if find_behind(code, (file, call.func.value), _makes_generator):
                edits += seeds.seed_torch(file, call)
    return edits


def _makes_generator(file: File, node: ast.expr) -> bool:
    return file.called(node) == "torch.Generator"


def _draws_before(id_: str, seedings: Sequence[Row], difference: Difference) -> bool:
    """Whether it was drawn from, otherwise in each run, before the script seeded it: maybe by that."""
    draw = _rows.find_first_differing(difference, "draw", id_)
    if draw is None or not seedings:
        return False
    rows = list(difference.a.evidence)
    return rows.index(draw) < rows.index(seedings[0])
