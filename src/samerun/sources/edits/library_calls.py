"""The edits that give a seed to what a library makes with a generator of its own.

A study of Optuna, by its sampler:
https://optuna.readthedocs.io/en/stable/faq.html#how-can-i-obtain-reproducible-optimization-results
The shuffle of a stream of Hugging Face's datasets:
https://huggingface.co/docs/datasets/package_reference/main_classes#datasets.IterableDataset.shuffle
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from samerun.editing.edit import Edit
from samerun.editing.edit_builders import set_keyword
from samerun.editing.import_names import write_name
from samerun.editing.names import collect_bound, walk_imports
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Row

DRAWS = re.compile(r"\.(?:suggest_\w+|optimize|ask)\(")
ADVICE = "optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))"
_SAMPLER = "optuna.samplers.TPESampler"  # what a study of one objective has if it is given none
# With a storage several processes share a study, and one seed would have them all try the same.
_SHARED = frozenset(["storage", None])
_OTHER = frozenset(["sampler", "directions"])  # it would have another sampler
_SEEDED = frozenset(["seed", "rng", None])
_STREAMS = "datasets"
_OF_SHUFFLE = frozenset(["buffer_size"])  # what may be given beside a seed


def seed_library_calls(code: Code, rows: Sequence[Row]) -> list[Edit]:
    """A seed for what these "unseeded" rows, of one line, draw from."""
    return _seed_studies(code, rows) or _seed_shuffles(code, rows)


def _seed_studies(code: Code, rows: Sequence[Row]) -> list[Edit]:
    """A seed for each sampler that is made without one, and such a sampler for each study that has none.

    Nothing where no trial drew there.
    """
    studies = [*_list_calls(code, "optuna.create_study"), *_list_calls(code, "optuna.load_study")]
    if not any(_draws(code, row) for row in rows):
        return []
    if any(_SHARED & _list_given(call) for _, call in studies):
        return []
    edits: list[Edit] = []
    for file, call in studies:
        if file.called(call) == "optuna.create_study" and not call.args and not _OTHER & _list_given(call):
            name, missing = write_name(file, _SAMPLER, call)
            edits.append(set_keyword(file, call, "sampler", f"{name}(seed=0)", missing))
    for file, call in _list_calls(code, "optuna.samplers.", end="Sampler"):
        if not call.args and not _SEEDED & _list_given(call):
            edits.append(set_keyword(file, call, "seed", "0"))
    return edits


def _seed_shuffles(code: Code, rows: Sequence[Row]) -> list[Edit]:
    """A seed for the shuffle at the line of these "unseeded" rows; nothing in code without that package.

    One for all ranks: they take parts of one order.
    """
    imported = [collect_bound(walk_imports(file.tree.body)).values() for file in code.files]
    if not any(name.partition(".")[0] == _STREAMS for names in imported for name in names):
        return []
    file, calls = code.calls(rows[0].call_site)
    return [
        set_keyword(file, call, "seed", "0")
        for call in calls
        if get_last_name(call) == "shuffle"
        and not call.args
        and {item.arg for item in call.keywords} <= _OF_SHUFFLE
    ]


def _list_calls(code: Code, begin: str, end: str = "") -> list[tuple[File, ast.Call]]:
    calls = [(file, call, file.called(call)) for file in code.files for call in file.every(ast.Call)]
    return [(file, call) for file, call, name in calls if name.startswith(begin) and name.endswith(end)]


def _list_given(call: ast.Call) -> set[str | None]:
    return {item.arg for item in call.keywords}


def _draws(code: Code, row: Row) -> bool:
    file, calls = code.calls(row.call_site)
    return any(DRAWS.search(f"{file.said(call.func)}(") for call in calls)
