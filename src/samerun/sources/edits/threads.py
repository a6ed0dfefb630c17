"""The edits that make threads and pools give their results in a fixed order."""

from __future__ import annotations

import ast
from dataclasses import replace

from samerun.editing.data_flow import find_behind, find_functions, find_given
from samerun.editing.edit import Change, Edit, NoEdit
from samerun.editing.edit_builders import (
    insert_after,
    rename_call,
    replace_arguments,
    replace_node,
    set_keyword,
)
from samerun.editing.source_file import File, Function, get_last_name
from samerun.editing.user_program import Code
from samerun.sources.patching.completion_order import UNORDERED

_POOLS = frozenset({"ThreadPoolExecutor", "ThreadPool"})
_GIVE = frozenset({"submit", "map", "imap", "imap_unordered", "apply_async", "starmap"})
_FRAMES = "polars"
_GROUPS = frozenset({"group_by"})
_LOSES_ROWS = _GROUPS | {"unique"}
_SHARED = frozenset(
    [
        "append",
        "put",
        "put_nowait",
        "add",
        "update",
        "extend",
        "pop",
        "insert",
        "send",
        "write",
        "next",
        "setdefault",
    ]
)
_WAITS = frozenset({"wait", "acquire", "recv", "select", "accept"})
_WAITS_BARE = frozenset({"get", "join"})  # without an argument, as a dict or a text never has them
_TAKES = frozenset({"pop", "popleft", "popitem", "remove"})
_LOOSE = (ast.IfExp, ast.BinOp, ast.BoolOp, ast.Lambda, ast.Starred, ast.NamedExpr)
_COST = "threads that ran beside each other run one after another: slower, however many cores there are"
_DRAWS = ("random.", "numpy.random.", "torch.rand", "torch.normal", "torch.bernoulli", "torch.multinomial")


def keep_arrival_in_order(code: Code) -> list[Edit]:
    """`in_order=True` in the place of `in_order=False`, given as an argument or in a dict of them."""
    edits: list[Edit] = []
    for file in code.files:
        values = [item.value for item in file.every(ast.keyword) if item.arg == "in_order"]
        for made in file.every(ast.Dict):
            given_ = zip(made.keys, made.values, strict=True)
            values += [
                value for key, value in given_ if isinstance(key, ast.Constant) and key.value == "in_order"
            ]
        edits += [
            replace_node(file, value, "True")
            for value in values
            if isinstance(value, ast.Constant) and not value.value
        ]
    return edits


def keep_order_submitted(code: Code) -> list[Edit]:
    """Results as they were asked for: `as_completed(x)` → `x`, `imap_unordered` → `imap`, and joblib's alike.

    None where a task may wait for what the loop over the results does.
    """
    if wait_for_others(code):
        return []
    edits: list[Edit] = []
    for file in code.files:
        for call in file.every(ast.Call):
            name = get_last_name(call)
            if name == "imap_unordered":
                edits.append(rename_call(file, call, "imap"))
            elif name == "as_completed" and file.called(call).endswith("as_completed") and call.args:
                edits += _give_futures(code, file, call, call.args[0])
            edits += [
                replace_node(file, value, '"generator"')
                for value in (*call.args, *(item.value for item in call.keywords))
                if name == "Parallel" and isinstance(value, ast.Constant) and value.value == UNORDERED
            ]
    return list(dict.fromkeys(edits))


def keep_rows_in_order(code: Code, site: str | None) -> list[Edit]:
    """`maintain_order=True` for what groups a polars frame, and for what the line of `site` calls."""
    edits: list[Edit] = []
    for file in code.files:
        if any(dotted.split(".")[0] == _FRAMES for dotted in file.names.imported.values()):
            edits += [_keep_rows(file, call) for call in file.every(ast.Call) if _loses_rows(call, _GROUPS)]
    try:
        file, calls = code.calls(site)
    except NoEdit:
        return edits
    edits += [_keep_rows(file, call) for call in calls if _loses_rows(call, _LOSES_ROWS)]
    return list(dict.fromkeys(edits))


def _loses_rows(call: ast.Call, names: frozenset[str]) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in names


def _keep_rows(file: File, call: ast.Call) -> Change:
    return set_keyword(file, call, "maintain_order", "True")


def _give_futures(code: Code, file: File, call: ast.Call, futures: ast.expr) -> list[Edit]:
    """The futures themselves in the place of a call; where they are a set, they become a list."""
    said = file.said(futures)
    if isinstance(futures, (ast.Set, ast.SetComp)):  # gone through by address
        return [replace_node(file, call, f"[{said[1:-1]}]")]
    edits: list[Edit] = [replace_node(file, call, f"({said})" if isinstance(futures, _LOOSE) else said)]
    for other, node in find_given(code, (file, futures)):
        if isinstance(node, (ast.Set, ast.SetComp)):
            start, end = other.span(node)
            edits += [Change(other.path, start, start + 1, "["), Change(other.path, end - 1, end, "]")]
    return edits


def run_one_by_one(code: Code) -> list[Edit]:
    """One thread for each pool whose tasks share something; threads that end before the next begins."""
    edits: list[Change] = []
    wait = wait_for_others(code)
    for file in code.files:
        for call in file.every(ast.Call):
            name = get_last_name(call)
            if name in _POOLS or file.called(call) == "multiprocessing.dummy.Pool":
                if wait:
                    continue
                edits += _set_one_worker(
                    file, call, "max_workers" if name == "ThreadPoolExecutor" else "processes"
                )
            elif name == "start" and not call.args:
                edits += _join_thread(code, file, call)
    return [replace(edit, cost=_COST) for edit in edits]


def share(code: Code) -> bool:
    """Whether what is given to pools draws random numbers, or writes where others write."""
    return any(_shares(file, body) for file, body in _find_tasks(code))


def wait_for_others(code: Code) -> bool:
    """Whether a task of a pool may wait for another one, or for the thread that takes their results."""
    return any(_waits(code, file, body) for file, body in _find_tasks(code))


def _find_tasks(code: Code) -> list[tuple[File, Function | ast.Lambda]]:
    """What is given to pools, as far as it is known."""
    found: list[tuple[File, Function | ast.Lambda]] = []
    for file in code.files:
        for call in file.every(ast.Call):
            if get_last_name(call) in _GIVE and call.args:
                task = call.args[0]
                found += [(file, task)] if isinstance(task, ast.Lambda) else _find_named(code, file, task)
    return found


def _find_named(code: Code, file: File, task: ast.expr) -> list[tuple[File, Function]]:
    """The functions that a name may stand for, as if it were called."""
    if not isinstance(task, (ast.Name, ast.Attribute)):
        return []
    return find_functions(code, file, ast.Call(task, [], []))


def _shares(file: File, body: ast.AST) -> bool:
    for node in ast.walk(body):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            return True
        if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
            return True
        if isinstance(node, ast.Call):
            if get_last_name(node) == "backward":  # it trains: dropout and shuffles draw from what all share
                return True
            if (
                get_last_name(node) in _SHARED
                and isinstance(node.func, ast.Attribute)
                and not _is_own(body, node.func.value)
            ):
                return True
            if file.called(node).startswith(_DRAWS):
                return True
    return False


def _is_own(body: ast.AST, node: ast.expr) -> bool:
    """Whether a name is assigned in a function itself."""
    name = node.id if isinstance(node, ast.Name) else None
    return any(
        isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Store)
        for item in ast.walk(body)
    )


def _set_one_worker(file: File, call: ast.Call, name: str) -> list[Change]:
    if call.args:
        return [replace_node(file, call.args[0], "1")]
    if call.keywords:
        return [set_keyword(file, call, name, "1")]
    return [replace_arguments(file, call, f"{name}=1")]


def _join_thread(code: Code, file: File, call: ast.Call) -> list[Change]:
    """`thread.start()` is followed by `thread.join()`, where the thread waits for nothing."""
    if not isinstance(call.func, ast.Attribute):
        return []
    thread = call.func.value
    makers = find_behind(code, (file, thread), lambda other, node: _makes_thread(code, other, node))
    if not makers or not all(_ends_alone(code, *maker) for maker in makers):
        return []
    if isinstance(thread, ast.Call):  # nobody else holds it: it runs here
        return [rename_call(file, call, "run")]
    said = file.said(thread)
    parent = file.parent(call)
    if isinstance(parent, ast.ListComp) and parent.elt is call:
        return [replace_node(file, call, f"({said}.start(), {said}.join())")]
    try:
        return [insert_after(file, parent, f"{said}.join()")] if isinstance(parent, ast.Expr) else []
    except NoEdit:
        return []


def _makes_thread(code: Code, file: File, node: ast.expr) -> bool:
    return file.called(node) == "threading.Thread" or _own_run(code, node) is not None


def _own_run(code: Code, node: ast.expr) -> tuple[File, Function] | None:
    """What a thread of the user's own class runs."""
    if not isinstance(node, ast.Call):
        return None
    for file in code.files:
        for made in file.every(ast.ClassDef):
            if made.name == get_last_name(node) and any(
                get_last_name(base) == "Thread" for base in made.bases
            ):
                methods = [item for item in made.body if isinstance(item, ast.FunctionDef)]
                return next(((file, item) for item in methods if item.name == "run"), None)
    return None


def _ends_alone(code: Code, file: File, maker: ast.expr) -> bool:
    """Whether what a thread runs comes to its end without the others and without the main thread."""
    own = _own_run(code, maker)
    found = [own] if own is not None else []
    for item in maker.keywords if isinstance(maker, ast.Call) else []:
        if item.arg == "target":
            found += _find_named(code, file, item.value)
    return bool(found) and not any(_waits(code, other, function) for other, function in found)


def _waits(code: Code, file: File, function: Function | ast.Lambda) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.While) and not _ends_by_itself(node):
            return True
        if isinstance(node, ast.Call) and file.called(node) == "iter" and len(node.args) == 2:
            return True  # until another thread says so: iter(queue.get, None)
        if isinstance(node, ast.Call):
            waits = get_last_name(node) in _WAITS or (get_last_name(node) in _WAITS_BARE and not node.args)
            if waits and isinstance(node.func, ast.Attribute) and not file.called(node):
                return True
            if get_last_name(node) in ("put", "put_nowait") and isinstance(node.func, ast.Attribute):
                queues = find_behind(
                    code, (file, node.func.value), lambda _, item: get_last_name(item).endswith("Queue")
                )
                if not queues or any(
                    isinstance(item, ast.Call) and (item.args or item.keywords) for _, item in queues
                ):
                    return True  # it waits when the queue is full
    return False


def _ends_by_itself(loop: ast.While) -> bool:
    """Whether a loop changes what it goes on by, as far as one sees: else it may wait for another thread."""
    asked = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
    for node in (item for statement in loop.body for item in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in asked:
            return True
        if (
            isinstance(node, ast.Call)
            and get_last_name(node) in _TAKES
            and isinstance(node.func, ast.Attribute)
        ):
            taken = node.func.value
            if isinstance(taken, ast.Name) and taken.id in asked:
                return True
    return any(isinstance(node, ast.NamedExpr) for node in ast.walk(loop.test))
