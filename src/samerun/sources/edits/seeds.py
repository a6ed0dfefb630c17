"""Edits that give a generator a seed which is the same in each run."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from samerun.editing.data_flow import Place, find_behind, find_given
from samerun.editing.edit import Change, Edit, NoEdit
from samerun.editing.edit_builders import insert_first, replace_arguments, replace_node
from samerun.editing.import_names import write_name
from samerun.editing.run_counts import runs_once
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.sources.edits.outside_values import is_given_from_outside
from samerun.sources.evidence import rows as _rows

SEEDS = re.compile(r"seed|random_state|entropy|salt", re.IGNORECASE)
_MAKERS = re.compile(r"default_rng|RandomState|PCG64(DXSM)?|MT19937|Philox|SFC64|Random|Generator")
GENERATORS = {  # functions that seed, as they stand in "seed" rows → what they seed
    "random.seed": "python-random",
    "np.random.seed": "numpy-global",
    "torch.manual_seed": "torch-cpu",
}
Volatile = Callable[[File, ast.expr], bool]
_DEEPEST = 4  # functions that hand a seed on
_ARGUMENTS = ("seed", "a", "entropy", "random_state", "x")
# Calls whose value is a number, so that 0 can stand in its place wherever it goes.
_NUMBERS = re.compile(
    r"^(int|abs|round|hash|id|sum|getrandbits|randint|randrange|(time\.)?(time|monotonic|perf_counter|process_time)(_ns)?|getpid|getppid|randbits"
    r"|randbelow|timestamp|from_bytes|crc32|adler32|get_ident|toordinal|get_native_id)$"
)

# Calls that only turn such a value into another form.
_TEXTS = frozenset(
    """str float repr format bytes encode to_bytes hex digest hexdigest md5 sha1 sha256 min max isoformat
    strftime total_seconds timetuple mktime array asarray""".split()  # noqa: SIM905 - words, as they are read
)


def is_seeding(call: ast.Call) -> bool:
    """Whether a call seeds something, or makes a generator, by its name."""
    return bool(SEEDS.search(get_last_name(call)) or _MAKERS.fullmatch(get_last_name(call)))


def find_argument(call: ast.Call) -> ast.expr | None:
    """What a call that seeds was given as the seed."""
    for item in call.keywords:
        if item.arg in _ARGUMENTS:
            return item.value
    return call.args[0] if call.args and not isinstance(call.args[0], ast.Starred) else None


def is_nothing(node: ast.expr | None) -> bool:
    """No argument, or the constant None."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def give_seed(code: Code, file: File, call: ast.Call, seed: str, imports: tuple[str, ...] = ()) -> list[Edit]:
    """A call that was made without a seed gets one; [] when it was made with one."""
    found = find_argument(call)
    if found is None:
        return [
            replace_arguments(file, call, seed, imports) if _is_bare(call) else insert_first(file, call, seed)
        ]
    if is_nothing(found):
        return [replace_node(file, found, seed, imports)]
    if isinstance(found, (ast.Name, ast.Attribute)):
        given = find_given(code, (file, found))
        nothing = [place for place in given if is_nothing(place[1])]
        known = all(isinstance(value, ast.Constant) for _, value in given)
        if len(nothing) == 1 and seed == "0" and known and runs_once(code, file, call):
            return [replace_node(nothing[0][0], nothing[0][1], seed)]
        said = file.said(found)
        return [replace_node(file, found, f"{seed} if {said} is None else {said}", imports)]
    return []


def seed_alike(code: Code, file: File, call: ast.Call, volatile: Volatile) -> list[Edit]:
    """A call that seeds with another value in each run gets the same one."""
    found = find_argument(call)
    if found is None or is_nothing(found):
        return give_seed(code, file, call, "0")
    if any(volatile(file, node) for node in ast.walk(found) if isinstance(node, ast.expr)):
        return make_constant(file, found, volatile)
    places = find_behind(code, (file, found), volatile)
    tops = [(other, find_largest(other, node, volatile)) for other, node in places]
    if tops and all(_is_for_seeds(other, top) for other, top in tops):
        return [replace_node(other, top, "0") for other, top in tops]
    if isinstance(found, ast.Constant):
        return []
    if is_given_from_outside(code, file, found):
        raise NoEdit(
            f"the seed at {file.site(call.lineno)} comes from the command line or the environment, and a "
            "constant there would make that ineffective: give it a number there, the same in each run "
            "(--seed 0, or the variable)"
        )
    parts = _find_parts(code, file, found, volatile) if places else []
    return [edit for part in parts or [found] for edit in _seed_here_or_above(code, (file, part), volatile)]


def _seed_here_or_above(code: Code, place: Place, volatile: Volatile, depth: int = _DEEPEST) -> list[Edit]:
    """A constant in the place of a seed; of one that a function takes, in the calls that give it another.

    In the function it would be the seed of every caller. Raises NoEdit where no such call is seen.
    """
    file, found = place
    taken = _find_parameters(file, found)
    if not taken:
        return [replace_node(file, found, "0")]
    edits: list[Edit] = []
    for name in taken if depth else ():
        given = [item for item in find_given(code, (file, name)) if not isinstance(item[1], ast.Constant)]
        behind = [item for item in given if find_behind(code, item, volatile)]
        for other, value in behind or (given if len(given) == 1 else ()):
            edits += make_constant(other, value, volatile) or _seed_here_or_above(
                code, (other, value), volatile, depth - 1
            )
    if not edits or not all(_only_seeds(file, name) for name in taken):
        names = " and ".join(dict.fromkeys(f"`{name.id}`" for name in taken))
        raise NoEdit(
            f"the seed at {file.site(found.lineno)} is made of {names}, which callers give, and a constant "
            "there would be the seed of all of them: give it the same value in each run"
        )
    return edits


def _find_parameters(file: File, found: ast.expr) -> list[ast.Name]:
    """The names in an expression that the function around it takes."""
    function = file.function(found)
    if function is None:
        return []
    given = function.args
    known = {item.arg for item in [*given.posonlyargs, *given.args, *given.kwonlyargs]} - {"self", "cls"}
    return [node for node in ast.walk(found) if isinstance(node, ast.Name) and node.id in known]


def _find_parts(code: Code, file: File, found: ast.expr, volatile: Volatile) -> list[ast.expr]:
    """The numbers in a list of them that get their value from what is volatile: the others stay."""
    if not isinstance(found, (ast.List, ast.Tuple)):
        return []
    return [item for item in found.elts if find_behind(code, (file, item), volatile)]


def make_constant(file: File, top: ast.expr, volatile: Volatile) -> list[Edit]:
    """The volatile parts of an expression become 0: the whole of it where it has no others. Raises NoEdit."""
    edits: list[Edit] = []
    for node in ast.walk(top):
        if isinstance(node, ast.expr) and volatile(file, node):
            largest = find_largest(file, node, volatile, top)
            if isinstance(file.parent(largest), ast.NamedExpr):
                raise NoEdit(
                    f"what the seed at {file.site(node.lineno)} is made of has a name, for other uses"
                )
            edits.append(replace_node(file, largest, "0"))
    return list(dict.fromkeys(edits))


def find_largest(file: File, node: ast.expr, volatile: Volatile, top: ast.expr | None = None) -> ast.expr:
    """The largest expression around a volatile one that is made of nothing but it and constants."""
    while node is not top:
        parent = file.parent(node)
        if isinstance(parent, ast.FormattedValue):  # which has no place of its own in the text
            parent = file.parent(parent)
        if not isinstance(parent, ast.expr) or not _is_pure(file, parent, volatile):
            return node
        if isinstance(parent, ast.Call) and parent.func is not node and is_seeding(parent):
            return node
        node = parent
    return node


def fix_in_seed(file: File, node: ast.expr, volatile: Volatile) -> list[Edit]:
    """The edits that make a volatile expression constant where the code around it makes a seed of it."""
    inner: ast.AST = node
    for outer in file.around(node):
        seed = _seed_made_of(file, outer, inner)
        if seed is not None:
            return make_constant(file, seed, volatile) if isinstance(seed, ast.expr) else []
        if isinstance(outer, ast.stmt):
            break
        inner = outer
    return []


def _seed_made_of(file: File, outer: ast.AST, inner: ast.AST) -> ast.AST | None:
    """What is to be constant, where the code `outer` makes a seed of `inner`, which is a part of it."""
    if isinstance(outer, ast.keyword):
        return outer.value if outer.arg and SEEDS.search(outer.arg) else None
    if isinstance(outer, ast.Call) and outer.func is not inner:
        named = [str(item.value) for item in outer.args if isinstance(item, ast.Constant)]
        if is_seeding(outer) or any(SEEDS.search(word) for word in named):  # or add_argument("--seed", …)
            return inner.value if isinstance(inner, ast.keyword) else inner
    if isinstance(outer, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
        return outer.value if any(_is_seed_name(target) for target in targets) else None
    if isinstance(outer, ast.Dict) and any(_is_seed_key(key) for key in _keys_of(outer, inner)):
        return next((item for item in outer.values if item is inner), None)
    if isinstance(outer, ast.Return):
        function = file.function(outer)
        return outer.value if function is not None and SEEDS.search(function.name) else None
    return None


def seed_calls(code: Code, row: Row, names: Sequence[str]) -> tuple[File, list[ast.Call]]:
    """The calls at the line of a "seed" or "unseeded" row that can have made it. Raises NoEdit."""
    file, calls = code.calls(row.call_site)
    named = [call for call in calls if file.called(call) in names]
    if not named:
        last = {name.rpartition(".")[2] for name in names}
        named = [call for call in calls if get_last_name(call) in last]
    if not named:  # it is called inside: by set_everything(get_seed()), and not by what gives the seed
        seeding = [call for call in calls if is_seeding(call)]
        inner = {id(node) for call in seeding for node in ast.walk(call) if node is not call}
        named = [call for call in seeding if id(call) not in inner]
    if not named:
        raise NoEdit(
            f"what seeds at {row.call_site} is called inside of something else there: give that a seed"
        )
    return file, named


def edit_each_line(rows: Iterable[Row], make: Callable[[Row], Iterable[Edit]]) -> list[Edit]:
    """The edits that `make` gives for one row of each line; lines that cannot be edited are passed over.

    Raises NoEdit when there are such lines and no edits at all.
    """
    edits: list[Edit] = []
    refused: NoEdit | None = None
    for row in {(row.call_site, row.name): row for row in rows}.values():
        try:
            edits += make(row)
        except NoEdit as reason:
            refused = reason
    if refused is not None and not edits:
        raise refused
    return edits


def find_repeated(rows: Sequence[Row]) -> set[str | None]:
    """The lines where one process made several."""
    counts = Counter((row.process, row.call_site) for row in rows)
    return {site for (_, site), count in counts.items() if count > 1}


def is_seeded(difference: Difference, *functions: str, before: str | None = None) -> bool:
    """Whether the script seeds with one of these already, alike in both runs.

    With `before`, a line that is to draw: before its process first came there, as far as that was noted.
    """
    noted = difference.a.evidence
    first = next((at for at, row in enumerate(noted) if before is not None and row.call_site == before), None)

    def counts(at: int, row: Row) -> bool:
        late = first is not None and at >= first and row.process == noted[first].process
        return row.what == "seed" and row.name in functions and ".worker" not in row.process and not late

    seeded = any(counts(at, row) for at, row in enumerate(noted))
    return seeded and all(_rows.find_first_differing(difference, "seed", name) is None for name in functions)


def worker_seed(file: File, call: ast.Call, name: str) -> list[Edit]:
    """A call that seeds a worker's generator `name` anew takes the seed that torch gave the worker."""
    text, missing = write_name(file, "torch.initial_seed", call)
    seed = f"{text}() % 2**32" if name == "numpy-global" else f"{text}()"
    if get_last_name(call) == "seed" and name == "torch-cpu":
        seeding, _ = write_name(file, "torch.manual_seed", call)
        return [replace_node(file, call, f"{seeding}({seed})", missing)]
    found = find_argument(call)
    if found is None:
        return [replace_arguments(file, call, seed, missing)]
    return [replace_node(file, found, seed, missing)]


def seed_torch(file: File, call: ast.Call) -> list[Edit]:
    """`torch.seed()` becomes `torch.manual_seed(0)`, and `generator.seed()` likewise."""
    alone = isinstance(file.parent(call), ast.Expr)
    _, end = file.span(call)
    start, after = file.span(call.func)
    name = file.text[start:after]
    if not isinstance(call.func, ast.Attribute):
        text, missing = write_name(file, "torch.manual_seed", call)
    else:
        text, missing = name.removesuffix("seed") + "manual_seed", ()
    tail = "" if alone else ".initial_seed()"
    return [Change(file.path, start, end, f"{text}(0){tail}", missing)]


def _is_bare(call: ast.Call) -> bool:
    return not call.args and not call.keywords


def _keys_of(made: ast.Dict, value: ast.AST) -> list[ast.expr]:
    """The keys under which a dict display has a value."""
    return [
        key for key, item in zip(made.keys, made.values, strict=True) if item is value and key is not None
    ]


def _is_seed_key(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and bool(SEEDS.search(str(key.value)))


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is a number for all that its form tells."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("int", "time_low", "microsecond", "pid")
    return isinstance(node, (ast.BinOp, ast.IfExp, ast.BoolOp)) or bool(_NUMBERS.search(get_last_name(node)))


def _is_seed_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        return isinstance(target.slice, ast.Constant) and bool(SEEDS.search(str(target.slice.value)))
    return bool(SEEDS.search(get_last_name(target)))


def _is_for_seeds(file: File, top: ast.expr) -> bool:
    """Whether a number stands there that is named, or used, as a seed and nothing else."""
    if not _is_number(top):
        return False
    for outer in file.around(top):
        if isinstance(outer, ast.keyword) and (outer.arg == "default" or SEEDS.search(outer.arg or "")):
            return True
        if isinstance(outer, ast.Dict):
            return any(_is_seed_key(key) for key in _keys_of(outer, top))
        if isinstance(outer, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
            targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
            return all(_is_seed_name(target) or _only_seeds(file, target) for target in targets)
        if isinstance(outer, ast.stmt):
            return isinstance(outer, ast.Return)
    return False


def _only_seeds(file: File, target: ast.expr) -> bool:
    """Whether a name is only ever given to what seeds, or printed."""
    if not isinstance(target, ast.Name):
        return False
    scope = file.scope(target)
    uses = [
        node
        for node in file.every(ast.Name)
        if node.id == target.id
        and isinstance(node.ctx, ast.Load)
        and (isinstance(scope, ast.Module) or scope in file.around(node))
    ]
    return bool(uses) and all(_seeds_or_shows(file, node) for node in uses)


def _seeds_or_shows(file: File, node: ast.expr) -> bool:
    """Whether an expression is in what is given to something that seeds, or is shown as it is."""
    parent = file.parent(node)
    if isinstance(parent, ast.FormattedValue):
        return True
    if isinstance(parent, ast.Call) and get_last_name(parent) in ("print", "info", "debug"):
        return True
    return any(isinstance(outer, ast.Call) and is_seeding(outer) for outer in file.around(node))


def _is_pure(file: File, node: ast.AST, volatile: Volatile) -> bool:
    if isinstance(node, ast.expr) and volatile(file, node):
        return True
    if isinstance(node, ast.Name):
        return bool(file.dotted(node))
    if isinstance(node, (ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom, ast.Dict)):
        return False
    if isinstance(node, ast.Call) and not (
        _NUMBERS.search(get_last_name(node)) or get_last_name(node) in _TEXTS
    ):
        return False
    return all(_is_pure(file, child, volatile) for child in ast.iter_child_nodes(node))
