"""Generators that a library seeds by a clock, a process id or the system: as good as made without a seed.

webdataset shuffles by `random.Random(int((os.getpid() + time.time()) * 1e9))`. A library keeps the real clock
under control, since it measures and waits by it; what it draws from is the training's.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from types import FrameType

from samerun import callsite
from samerun.installed_folders import find_installed_folder

_READS = (
    "time time_ns perf_counter perf_counter_ns monotonic monotonic_ns now utcnow today getpid getppid "
    "urandom getrandom uuid1 uuid4 token_bytes"
)
_CHANGES = frozenset(_READS.split())
_MODULES = frozenset(["time", "datetime", "date", "dt", "os", "uuid", "secrets"])
_DEEP = 3  # names whose values are made of other names


def find_library_seed() -> str | None:
    """The line of a library that seeds here by what is another number in each run; None for any other."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "random" and not module.startswith("samerun."):
            break
        frame = frame.f_back
    if frame is None or find_installed_folder(frame.f_code.co_filename) is None:
        return None
    changes = _is_made_of_change(frame.f_code.co_filename, frame.f_lineno)
    return callsite.call_site(frame) if changes else None


@functools.lru_cache(maxsize=1024)
def _is_made_of_change(path: str, line: int) -> bool:
    """Whether the statement of a line reads a clock and the like, or a name that is made of one."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _covers(node, line)]
    if not nodes:
        return False
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    statement = max(nodes, key=lambda node: node.lineno)
    within: ast.AST = max(functions, key=lambda node: node.lineno) if functions else tree
    return _reads_change(statement, within, _DEEP)


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _reads_change(top: ast.AST, within: ast.AST, deep: int) -> bool:
    nodes = list(ast.walk(top))
    if any(isinstance(node, ast.Call) and _is_change(node.func) for node in nodes):
        return True
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if not deep or not names:
        return False
    given = (
        node.value
        for node in ast.walk(within)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id in names for target in node.targets)
    )
    return any(_reads_change(value, within, deep - 1) for value in given)


def _is_change(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _CHANGES
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    named = isinstance(function, ast.Attribute) and function.attr in _CHANGES
    return named and isinstance(root, ast.Name) and root.id in _MODULES
