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
_Function = ast.FunctionDef | ast.AsyncFunctionDef


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
    """Whether what seeds at a line is always made of a clock and the like, and never given to the library."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and _covers(node, line)]
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if not functions:
        return False
    function = max(functions, key=lambda node: node.lineno)
    seeds = (
        argument
        for node in ast.walk(max(nodes, key=lambda node: node.lineno))
        if isinstance(node, ast.Call) and _get_last_name(node.func) in ("Random", "seed")
        for argument in node.args[:1]
    )
    return any(_is_always_made(seed, function, _DEEP) for seed in seeds)


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _is_always_made(value: ast.expr, function: _Function, deep: int) -> bool:
    """Whether a value has a clock in it, whatever the function is given.

    Not `seed or time.time()`, nor a name that may have been given: that is the user's seed then.
    """
    nodes = list(ast.walk(value))
    if any(isinstance(node, (ast.IfExp, ast.BoolOp)) for node in nodes):
        return False
    if any(isinstance(node, ast.Call) and _is_change(node.func) for node in nodes):
        return True
    given = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
    names = {node.id for node in nodes if isinstance(node, ast.Name)} - given
    return deep > 0 and any(_is_set(name, function, deep - 1) for name in names)


def _is_set(name: str, function: _Function, deep: int) -> bool:
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return bool(values) and all(_is_always_made(value, function, deep) for value in values)


def _get_last_name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_change(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id in _CHANGES
    root: ast.expr = function
    while isinstance(root, ast.Attribute):
        root = root.value
    named = isinstance(function, ast.Attribute) and function.attr in _CHANGES
    return named and isinstance(root, ast.Name) and root.id in _MODULES
