"""The edits that seed what DataLoader workers draw from."""

from __future__ import annotations

import ast

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import Edit, Opening
from samerun.editing.edit_builders import set_keyword
from samerun.editing.import_names import write_name
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.sources.edits import run_dependent_calls, seeds
from samerun.sources.evidence import rows as _rows

_GLOBAL = tuple(seeds.GENERATORS.values())


def seed_workers(difference: Difference, code: Code) -> list[Edit]:
    """The worker's own seed where a worker seeds itself, and a seed for the main process's generator."""
    unseeded = [row for row in difference.a.rows("unseeded") if row.name in _GLOBAL]
    rows = [*unseeded, *_rows.list_differing(difference, "seed", tuple(seeds.GENERATORS))]

    def make(row: Row) -> list[Edit]:
        name = seeds.GENERATORS.get(row.name or "", row.name or "")
        file, calls = seeds.seed_calls(code, row, tuple(seeds.GENERATORS))
        return [edit for call in calls for edit in _reseed(code, file, call, name)]

    edits = seeds.edit_each_line((row for row in rows if ".worker" in row.process), make)
    if edits and seeds.is_seeded(difference, "torch.manual_seed"):
        return edits
    if not seeds.is_seeded(difference, "torch.manual_seed"):
        return [*edits, Opening("torch.manual_seed", "(0)")]
    return _seed_loaders(code)


def _reseed(code: Code, file: File, call: ast.Call, name: str) -> list[Edit]:
    """The edits of a call that seeds a worker's generator otherwise in each run."""
    found = seeds.find_argument(call)
    if found is None or seeds.is_nothing(found) or _is_volatile(file, found):
        return seeds.worker_seed(file, call, name)
    if find_behind(code, (file, found), run_dependent_calls.is_run_dependent):
        return seeds.seed_alike(code, file, call, run_dependent_calls.is_run_dependent)
    if "initial_seed" in ast.unparse(found) or "get_worker_info" in ast.unparse(found):
        return [Opening("torch.manual_seed", "(0)")]  # as torch seeds it: from the main process's generator
    return seeds.worker_seed(file, call, name)


def _is_volatile(file: File, top: ast.expr) -> bool:
    return any(
        run_dependent_calls.is_run_dependent(file, node)
        for node in ast.walk(top)
        if isinstance(node, ast.expr)
    )


def _seed_loaders(code: Code) -> list[Edit]:
    """A seeded generator for each DataLoader, from which its workers get their seeds."""
    edits: list[Edit] = []
    for file in code.files:
        for call in file.every(ast.Call):
            if get_last_name(call) == "DataLoader":
                made, missing = write_name(file, "torch.Generator", call)
                edits.append(set_keyword(file, call, "generator", f"{made}().manual_seed(0)", missing))
    return edits
