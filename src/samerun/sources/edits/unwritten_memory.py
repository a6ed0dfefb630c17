"""The edits that fill memory which is read before it is written."""

from __future__ import annotations

import ast
from collections.abc import Collection

from samerun.editing.data_flow import Place, find_behind
from samerun.editing.edit import Change, Edit, NoEdit
from samerun.editing.edit_builders import rename_call
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code

_ZEROS = {"empty": "zeros", "empty_like": "zeros_like", "new_empty": "new_zeros"}
_TYPES = frozenset(
    [
        "Tensor",
        "FloatTensor",
        "DoubleTensor",
        "HalfTensor",
        "BFloat16Tensor",
        "LongTensor",
        "IntTensor",
        "ByteTensor",
        "BoolTensor",
    ]
)
# Methods that write each element, whatever was there; others in place go on from it.
_DRAWN = frozenset(
    ["normal_", "log_normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_", "cauchy_"]
)
_WRITES = _DRAWN | {"zero_", "fill_", "copy_", "set_"}
_ZEROED_AFTER = frozenset({"empty_strided", "new_empty_strided", "empty_permuted", "new"})


def write_zeros(code: Code, site: str | None) -> list[Edit]:
    """Zeros in the place of the memory that `site` reads, else of all that is not written at once."""
    found: dict[int, Place] = {}
    try:
        file, expressions = code.expressions(site)
        for node in expressions:
            if isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
                for place in find_behind(code, (file, node), is_empty):
                    found[id(place[1])] = place
    except NoEdit:
        pass
    places = list(found.values()) or [
        (file, call) for file in code.files for call in file.every(ast.Call) if is_empty(file, call)
    ]
    return [edit for place in places if not _is_written(*place) for edit in _make_zeros(*place)]


def list_sites(code: Code) -> list[str]:
    """The lines that make memory which is not written at once."""
    return [
        file.site(call.lineno)
        for file in code.files
        for call in file.every(ast.Call)
        if is_empty(file, call) and not _is_written(file, call)
    ]


def is_empty(file: File, node: ast.expr) -> bool:
    """Whether a call gives memory that nothing has written."""
    if not isinstance(node, ast.Call):
        return False
    name, last = file.called(node), get_last_name(node)
    if name.startswith(("torch.", "numpy.")):
        sized = bool(node.args) and not isinstance(node.args[0], (ast.List, ast.ListComp, ast.Tuple))
        return (
            last in _ZEROS or last in _ZEROED_AFTER or (last in _TYPES and sized) or name == "numpy.ndarray"
        )
    return last in ("new_empty", "new_empty_strided")


def _make_zeros(file: File, node: ast.expr) -> list[Edit]:
    assert isinstance(node, ast.Call)
    last = get_last_name(node)
    odd = any(item.arg == "memory_format" for item in node.keywords) and last == "empty"
    if last in _ZEROS and not odd:
        return (
            [rename_call(file, node, _ZEROS[last])]
            if isinstance(node.func, ast.Attribute)
            else [_zero_after(file, node)]
        )
    if file.called(node) == "numpy.ndarray" or last in ("Tensor", "FloatTensor"):
        return [rename_call(file, node, "zeros")]
    return [_zero_after(file, node)]


def _zero_after(file: File, node: ast.Call) -> Change:
    _, end = file.span(node)
    return Change(file.path, end, end, ".fill(0)" if file.called(node).startswith("numpy.") else ".zero_()")


def _is_written(file: File, node: ast.expr) -> bool:
    """Whether the memory is filled where it is made: `torch.empty(3).normal_()`, `out=`, `nn.init.…`."""
    parent = file.parent(node)
    if isinstance(parent, ast.Attribute) and parent.attr in _WRITES:
        return True
    if isinstance(parent, ast.keyword) and parent.arg == "out":
        return True
    outer = file.parent(parent) if isinstance(parent, ast.Call) else None
    calls = [item for item in (parent, outer) if isinstance(item, ast.Call)]
    if any(get_last_name(call).endswith("_") for call in calls):
        return True
    statement = file.statement(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {ast.unparse(target) for target in targets}
    return any(_writes_to(call, names) for call in file.every(ast.Call))


def _writes_to(call: ast.Call, names: Collection[str]) -> bool:
    """Whether a call fills what has one of these names: `x.normal_()`, `nn.init.zeros_(x)`."""
    last = get_last_name(call)
    filled = [call.func.value] if last in _WRITES and isinstance(call.func, ast.Attribute) else []
    filled += call.args[:1] if last.endswith("_") else []
    return any(ast.unparse(each).removesuffix(".data") in names for each in filled)
