"""The edits that seed one of the global generators."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import Edit, NoEdit, Opening
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.sources.edits import run_dependent_calls, seeds
from samerun.sources.evidence import rows as _rows


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
    return [*edits, Opening(function, "(0)", site=site)] if needed else edits


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
