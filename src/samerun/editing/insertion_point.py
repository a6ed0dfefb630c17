"""Where a line stands that must run once, before a script draws anything: right after its imports.

Above the imports of the user's own modules where one of them draws numbers or computes as it is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from samerun.editing.edit import NoEdit
from samerun.editing.names import collect_bound, is_main_guard, walk_imports
from samerun.editing.source_file import File
from samerun.editing.user_program import Code

# What may stand among imports, and only prepares: calls and assignments that draw nothing.
_PREPARES = re.compile(
    r"(sys\.path|os\.environ|os\.putenv|os\.chdir|warnings\.|logging\.|matplotlib\.use|mpl\.use|plt\.switch_backend"
    r"|site\.addsitedir|faulthandler\.|multiprocessing\.set_start_method|mp\.set_start_method|__\w+__\b|[\w.]*seed\w*\()"
)
# Names of functions that draw, build what draws, or start something, when a module is imported.
_DRAWS = re.compile(
    r"(^|\.)(rand\w*|random\w*|normal\w*|uniform\w*|randn|randint|randperm|shuffle|sample|choice\w*|permutation|manual_seed"
    r"|bernoulli|multinomial|dropout|init|[A-Z]\w*|main|build\w*|make\w*|create\w*|get\w*|load\w*|train\w*|setup\w*)$"
)
_HARMLESS = re.compile(
    r"(^|\.)(Path|PurePath|TypeVar|NewType|namedtuple|NamedTuple|TypedDict|Enum|Logger|getLogger|get_logger|Optional|Union"
    r"|ParamSpec|Literal|OrderedDict|Counter|ArgumentParser|Namespace|SimpleNamespace|Compose|ToTensor|Lock|RLock|Event"
    r"|getenv|get|getcwd|get_default_dtype|getattr|get_device_name|get_device)$"
)


# What stands in a `try` or an `if` around imports, for when they fail.
_BESIDE_IMPORTS = (ast.Import, ast.ImportFrom, ast.Try, ast.If, ast.Assign, ast.Pass, ast.Raise, ast.Expr)


@dataclass(frozen=True)
class Spot:
    """A place in a file for whole lines, or between two statements of one line."""

    file: File
    offset: int
    bound: dict[str, str]  # name → what it is imported from, of the imports above
    imports_at: int  # where a line with an import goes
    inline: bool = False
    indent: str = ""  # of a line at `offset`


def find_beginning(code: Code, *, guarded: bool = False) -> Spot:
    """The spot in the script that was started, or in the package that `python -m` imports before it.

    `guarded`: under `if __name__ == "__main__":`, where the script has that and nothing draws before it, so
    that who imports the script, and each child that is spawned, keeps generators of its own. Raises NoEdit
    when there is no script that can be edited.
    """
    main = code.main
    for package in code.packages:
        if _find_drawing_import(code, package, list(_walk_leading(package))) or _draws(code, package, set()):
            return find_spot(package, code)
    guard = next(filter(is_main_guard, main.tree.body), None) if guarded else None
    if guard is None or _draws(code, main, set()):
        return find_spot(main, code)
    return _find_guarded(main, guard)


def _find_guarded(file: File, guard: ast.stmt) -> Spot:
    """The spot before the first statement under a guard."""
    assert isinstance(guard, ast.If)
    above, first = file.tree.body[: file.tree.body.index(guard)], guard.body[0]
    names, imports_at = collect_bound(walk_imports(above)), find_spot(file).imports_at
    at = file.span(first)[0]
    if first.lineno == guard.lineno:
        return Spot(file, at, names, imports_at, inline=True)
    start = file.offset_of_line(_find_first_line(first))
    return Spot(file, start, names, imports_at, indent=file.text[start:at])


def find_spot(file: File, code: Code | None = None) -> Spot:
    """The spot after the first imports of a file; with `code`, above an import that draws."""
    leading = list(_walk_leading(file))
    last = max((at for at, item in enumerate(leading) if _is_import(item)), default=None)
    used = leading[: last + 1] if last is not None else [item for item in leading if _is_first(item, file)]
    above = None if code is None else _find_drawing_import(code, file, used)
    if above is not None:
        used = used[: used.index(above)]
    names = collect_bound(walk_imports(used))
    if not used:
        start = _skip_comments(file)
        return Spot(file, start, names, start)
    if above is not None:
        start = file.offset_of_line(above.lineno)
        return Spot(file, start, names, start)
    end = used[-1].end_lineno or used[-1].lineno
    following = file.tree.body[len(used)] if len(used) < len(file.tree.body) else None
    if following is not None and _find_first_line(following) <= end:
        start = file.span(following)[0]
        return Spot(file, start, names, start, inline=True)
    after = file.offset_of_line(end + 1)
    blank = re.match(r"[ \t]*(\r\n|\r|\n)", file.text[after:])
    return Spot(file, after + (blank.end() if blank else 0), names, after)


def _walk_leading(file: File) -> Iterator[ast.stmt]:
    """The statements at the start of a file up to the first that may draw."""
    for item in file.tree.body:
        if not (_is_import(item) or _is_first(item, file) or _prepares(file, item)):
            return
        yield item


def _is_first(item: ast.stmt, file: File) -> bool:
    """A docstring, or `from __future__`."""
    if isinstance(item, ast.ImportFrom) and item.module == "__future__":
        return True
    is_text = isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
    return is_text and item is file.tree.body[0]


def _is_import(item: ast.stmt) -> bool:
    """An import, or a `try` or `if` that holds imports and what to do without them."""
    if isinstance(item, (ast.Import, ast.ImportFrom)):
        return True
    if not isinstance(item, (ast.Try, ast.If)) or is_main_guard(item):
        return False
    inside = [node for node in ast.walk(item) if isinstance(node, ast.stmt) and node is not item]
    imported = [node for node in inside if isinstance(node, (ast.Import, ast.ImportFrom))]
    return bool(imported) and all(isinstance(node, _BESIDE_IMPORTS) for node in inside)


def _prepares(file: File, item: ast.stmt) -> bool:
    if isinstance(item, (ast.Assign, ast.AnnAssign)):
        value = item.value
        if value is None or not any(isinstance(node, ast.Call) for node in ast.walk(value)):
            return True
        return bool(_PREPARES.match(file.said(item)))
    if isinstance(item, ast.If):
        return all(_prepares(file, child) or _is_import(child) for child in [*item.body, *item.orelse])
    return isinstance(item, ast.Expr) and bool(_PREPARES.match(file.said(item)))


def _find_drawing_import(code: Code, file: File, used: list[ast.stmt]) -> ast.stmt | None:
    """The first of these statements that imports a module of the user's which may draw as it is imported."""
    for item in used:
        for other in _find_imported_by(code, file, item):
            if _draws(code, other, {file.path}):
                return item
    return None


def _find_imported_by(code: Code, file: File, item: ast.stmt) -> Iterator[File]:
    """The user's own files that a statement imports, themselves or as members of a package."""
    for name in _list_modules(item, file):
        path = name.replace(".", "/")
        for other in code.files:
            here = other.path.removesuffix(".py").removesuffix("/__init__")
            if other is not file and (here == path or here.endswith(f"/{path}")):
                yield other


def _list_modules(item: ast.stmt, file: File) -> Iterator[str]:
    for node in ast.walk(item):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = file.path.split("/")[: -node.level] if node.level else []
            start = ".".join([*folder, *([node.module] if node.module else [])])
            if start:
                yield start
            yield from (f"{start}.{alias.name}" if start else alias.name for alias in node.names)


def _draws(code: Code, file: File, seen: set[str]) -> bool:
    """Whether importing a file may draw or compute: by what it calls outside of functions, or imports."""
    if file.path in seen:
        return False
    seen.add(file.path)
    try:
        body = file.tree.body
    except NoEdit:
        return False
    for item in body:
        if is_main_guard(item):
            continue
        if any(_draws(code, other, seen) for other in _find_imported_by(code, file, item)):
            return True
        if any(_may_draw(file, node) for node in _run_on_import(item) if isinstance(node, ast.Call)):
            return True
    return False


def _may_draw(file: File, call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    return bool(_DRAWS.search(name)) and not _HARMLESS.search(name)


def _run_on_import(item: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement that are evaluated as it runs: no bodies of functions; class bodies are."""
    yield item
    if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
        waiting: list[ast.AST] = [*item.decorator_list, *item.args.defaults]
    elif isinstance(item, ast.Lambda):
        waiting = []
    else:
        waiting = list(ast.iter_child_nodes(item))
    for child in waiting:
        yield from _run_on_import(child)


def _find_first_line(item: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(item, "decorator_list", [])
    return min([item.lineno, *(node.lineno for node in decorators)])


def _skip_comments(file: File) -> int:
    """Past `#!`, the coding line and a licence at the very start."""
    offset = 0
    first = _find_first_line(file.tree.body[0]) if file.tree.body else 1
    for line in range(1, first):
        start, end = file.offset_of_line(line), file.offset_of_line(line + 1)
        if not file.text[start:end].removeprefix("\ufeff").startswith("#"):
            break
        offset = end
    if offset == 0 and file.text.startswith("\ufeff"):
        return 1
    return offset
