"""Generators that each had a seed of their own get different ones: two views of a sample are to differ.

Each edit alone writes 0, or the rank's number, or the seed that the program is given. Two generators of one
kind that have one seed draw the same numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from samerun.editing.edit import Change, Edit, Opening
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.edits.each_call import CONSTANT, find_node
from samerun.sources.edits.ranks import SEEDING, was_of_its_own
from samerun.sources.edits.seeds import find_argument, is_seeding

_OF_PROCESS = re.compile(r"\b(getp?pid|current_process|get_native_id|get_ident)\b")  # one for all its lines
_RANK = re.compile(r'int\([\w.]+\("\w+", 0\)\)')
_OF_RANK = "rank"  # stands for that, however the script has imported it
_RANKS = 1000  # that there is room for between two numbers
_SEQUENCES = ("default_rng", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_ALIKE = {"RandomState": "numpy.random.seed", "Random": "random.seed", "manual_seed": "torch.manual_seed"}
_CALLS = re.compile(r"(?P<name>[\w.]+)\((?:\w+=)?$")
_ANY = ""  # the kind of a seed that goes into a variable


def give_distinct_seeds(edits: Mapping[str, Sequence[Edit]], code: Code) -> dict[str, list[Edit]]:
    """The edits of each source; no two of them give generators of one kind the same number."""
    taken = _Taken(code)
    every = dict.fromkeys(edit for some in edits.values() for edit in some)
    for edit in every:
        if isinstance(edit, Opening) and edit.name in SEEDING:
            of_rank = f"{edit.base} + {_OF_RANK}" if edit.base else _OF_RANK
            kind = _name_kind(edit.name, edit.name.rpartition(".")[2])
            taken.add(kind, "0" if edit.rank is None else of_rank)
    apart = {edit: _set_apart(edit, taken, code) if isinstance(edit, Change) else edit for edit in every}
    return {source: [apart[edit] for edit in some] for source, some in edits.items()}


class _Taken:
    """What seeds generators of each kind already: numbers, and other expressions, as they are written."""

    def __init__(self, code: Code) -> None:
        self._by_kind: dict[str, set[str]] = {}
        self._named: set[str] = set()  # numbers that may be behind what is no number
        for file in code.files:
            for call in file.every(ast.Call):
                kind, given = _find_kind(file, call), find_argument(call)
                if kind is not None and given is not None:
                    self.add(kind, file.said(given))
            self._named.update(_list_named(file))

    def add(self, kind: str, seed: str) -> None:
        self._by_kind.setdefault(kind, set()).add(_RANK.sub(_OF_RANK, seed))

    def take(self, kind: str, seed: str) -> str:
        """A seed that no other generator of this kind has: this one, or one that is made of it."""
        kinds = self._by_kind.values() if kind == _ANY else map(self._by_kind.get, (kind, _ANY))
        taken = set[str]().union(*(each for each in kinds if each))
        if not all(map(str.isdecimal, taken)):
            taken |= self._named
        found = next(each for each in _list_alike(seed) if _RANK.sub(_OF_RANK, each) not in taken)
        self.add(kind, found)
        return found


def _list_alike(seed: str) -> Iterator[str]:
    """A seed, and others that are made of it."""
    yield seed
    number = 0
    while True:
        number += 1
        if seed == "0":
            yield str(number)
        elif _RANK.fullmatch(seed):
            yield f"{_RANKS * number} + {seed}"
        else:
            yield f"{seed} + {number}"


def _set_apart(edit: Change, taken: _Taken, code: Code) -> Change:
    file = code.file(edit.path)
    span = _find_seed(edit)
    before = file.text[edit.start : edit.end]
    if span is None or not was_of_its_own(edit, file) or _OF_PROCESS.search(before):
        return edit
    start, end = span
    seed = taken.take(_find_kind_of_edit(file, edit, start), edit.text[start:end])
    return replace(edit, text=f"{edit.text[:start]}{seed}{edit.text[end:]}")


def _find_seed(edit: Change) -> tuple[int, int] | None:
    """Where the seed is that an edit writes, if that is one for all that the line makes."""
    if edit.given:
        start = edit.text.rfind(edit.given)  # the last one: `seed=seed`
        return None if start < 0 else (start, start + len(edit.given))
    constant = CONSTANT.fullmatch(edit.text)
    if constant is not None:
        return constant.span("seed")
    rank = _RANK.search(edit.text)
    return None if rank is None else rank.span()


def _find_kind_of_edit(file: File, edit: Change, start: int) -> str:
    """What is seeded by an edit whose seed begins at `start` of its text."""
    calls = _CALLS.search(edit.text[:start])
    if calls is not None:
        return _name_kind(calls["name"], calls["name"].rpartition(".")[2])
    node = find_node(file, edit)
    for outer in () if node is None else (node, *file.around(node)):
        if isinstance(outer, ast.Call):
            return _name_kind(file.called(outer), get_last_name(outer))
        if isinstance(outer, ast.stmt):
            break
    return _ANY


def _find_kind(file: File, call: ast.Call) -> str | None:
    """What kind of generator a call makes or seeds; None where it does not."""
    name = get_last_name(call)
    return _name_kind(file.called(call), name) if is_seeding(call) or name == "reset" else None


def _name_kind(called: str, name: str) -> str:
    """One name for all that have the same numbers from one seed."""
    if name in _SEQUENCES:
        return _SEQUENCES[0]
    if name in _ALIKE:
        return _ALIKE[name]
    return called.replace("np.", "numpy.") if name == "seed" and called else name


def _list_named(file: File) -> Iterator[str]:
    """The numbers that have the name of a seed: `SEED = 7`, `seed=7`, `"--seed", default=7`."""
    for node in file.every(ast.Assign, ast.AnnAssign, ast.keyword, ast.Call):
        values: list[ast.expr | None] = []
        if isinstance(node, ast.Call):
            texts = [item.value for item in node.args if isinstance(item, ast.Constant)]
            named = any("seed" in str(text) for text in texts)
            values = [item.value for item in node.keywords if item.arg == "default" and named]
        elif isinstance(node, ast.keyword):
            values = [node.value] if "seed" in (node.arg or "") else []
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            values = [node.value] if any("seed" in get_last_name(item).lower() for item in targets) else []
        for value in values:
            if isinstance(value, ast.Constant) and type(value.value) is int:
                yield str(value.value)
