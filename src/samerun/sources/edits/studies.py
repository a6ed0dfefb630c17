"""The edits that seed a study of Optuna, whose samplers draw from a generator of their own.

https://optuna.readthedocs.io/en/stable/faq.html#how-can-i-obtain-reproducible-optimization-results
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from samerun.editing.edit import Edit
from samerun.editing.edit_builders import set_keyword
from samerun.editing.import_names import write_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Row

DRAWS = re.compile(r"\.(?:suggest_\w+|optimize|ask)\(")
ADVICE = "optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))"
_SAMPLER = "optuna.samplers.TPESampler"  # what a study of one objective has if it is given none
# With a storage several processes share a study, and one seed would have them all try the same.
_DECIDES = frozenset(["sampler", "directions", "storage", None])


def seed_studies(code: Code, rows: Sequence[Row]) -> list[Edit]:
    """A sampler with a seed for each study that is made without one; nothing where no trial drew there."""
    if not any(_draws(code, row) for row in rows):
        return []
    edits: list[Edit] = []
    for file in code.files:
        for call in file.every(ast.Call):
            given = {item.arg for item in call.keywords}
            if file.called(call) != "optuna.create_study" or call.args or given & _DECIDES:
                continue
            name, missing = write_name(file, _SAMPLER, call)
            edits.append(set_keyword(file, call, "sampler", f"{name}(seed=0)", missing))
    return edits


def _draws(code: Code, row: Row) -> bool:
    file, calls = code.calls(row.call_site)
    return any(DRAWS.search(f"{file.said(call.func)}(") for call in calls)
