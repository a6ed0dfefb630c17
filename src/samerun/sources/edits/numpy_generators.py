"""The edits that seed NumPy generators where they are made."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from samerun.editing.edit import Edit, NoEdit, Opening
from samerun.editing.import_names import write_name
from samerun.editing.source_file import File
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.sources.edits import seeds
from samerun.sources.edits.environments import explain_unseeded, seed_environment
from samerun.sources.edits.field_factories import seed_factories
from samerun.sources.edits.library_calls import seed_library_calls

_NAMES = ("default_rng", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_MAKERS = tuple(f"numpy.random.{name}" for name in _NAMES)


def seed_generators(difference: Difference, code: Code) -> list[Edit]:
    """A seed for each generator that was made without one. Raises NoEdit."""
    rows = difference.a.rows("unseeded", "numpy-generator")
    often = seeds.find_repeated(rows)

    def make(row: Row) -> list[Edit]:
        try:
            file, calls = find_makers(code, row)
        except NoEdit:
            here = [item for item in rows if item.call_site == row.call_site]
            edits = (
                _seed_factories(code, difference)
                or seed_environment(code, here)
                or seed_library_calls(code, here)
            )
            if not edits and (reason := explain_unseeded(code, here)) is not None:
                raise NoEdit(reason) from None
            if not edits:
                raise
            return edits
        many = row.call_site in often
        return [edit for call in calls for edit in _seed_one(code, file, call, row, many, difference)]

    return seeds.edit_each_line(rows, make)


def find_makers(code: Code, row: Row) -> tuple[File, list[ast.Call]]:
    """The calls at the line of a row that make generators. Raises NoEdit."""
    return seeds.seed_calls(code, row, _MAKERS)


def _seed_factories(code: Code, difference: Difference) -> list[Edit]:
    edits = seed_factories(code, _MAKERS, "numpy.random.randint", "2**31")
    if edits and not seeds.is_seeded(difference, "np.random.seed"):
        edits.append(Opening("numpy.random.seed", "(0)"))
    return edits


def _seed_one(
    code: Code, file: File, call: ast.Call, row: Row, many: bool, difference: Difference
) -> Iterator[Edit]:
    """A seed for one generator.

    Where a line makes several, one constant would make them all alike: they get seeds from NumPy's global
    generator, which is then seeded. One for each worker gets that worker's own seed.
    """
    in_worker = ".worker" in row.process
    if not many and not in_worker:
        yield from seeds.give_seed(code, file, call, "0")
        return
    name, arguments = ("numpy.random.randint", "(2**31)") if many else ("torch.initial_seed", "()")
    seed, missing = write_name(file, name, call)
    yield from seeds.give_seed(code, file, call, f"{seed}{arguments}", missing)
    if in_worker:  # where torch seeds NumPy, from the main process's generator
        if not seeds.is_seeded(difference, "torch.manual_seed"):
            yield Opening("torch.manual_seed", "(0)")
    elif not seeds.is_seeded(difference, "np.random.seed", before=row.call_site):
        yield Opening("numpy.random.seed", "(0)")
