"""Ranks and other processes draw numbers of their own: a constant in the place of a seed makes them alike.

Only where a seed was another one on each rank: nobody gave one, or it came from the process's number, the
system's entropy or a clock of nanoseconds. What ranks share, such as the second or the host, they go on to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from samerun.editing.edit import Change, Edit, NoEdit, Opening, Unfaithful
from samerun.editing.edit_builders import insert_after
from samerun.editing.import_names import write_name, write_rank
from samerun.editing.names import collect_bound, is_main_guard, walk_imports
from samerun.editing.run_counts import is_repeated
from samerun.editing.source_file import File
from samerun.editing.user_program import Code
from samerun.lineage import RANKS
from samerun.runs.difference import Difference
from samerun.sources.edits.each_call import CONSTANT, DRAW
from samerun.sources.edits.seeds import find_argument

_OF_ITS_OWN = re.compile(
    r"\b(getpid|current_process|uuid[14]|urandom|token_\w+|randbits|randbelow|SystemRandom|getrandbits|getentropy"
    r"|\w+_ns|perf_counter|monotonic|process_time|get_native_id|get_ident)\b"
)
# Of torch.multiprocessing, of a context, of concurrent.futures.
_STARTING = frozenset(["spawn", "start_processes", "Process", "Pool", "ProcessPoolExecutor"])
_RUNS_PROGRAM = frozenset(
    [*(f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output")), "os.system"]
)
_TORCH = "torch.manual_seed"
_BASE = 1000
SEEDING = {  # → whose seed it is
    _TORCH: "torch-cpu",
    "numpy.random.seed": "numpy-global",
    "np.random.seed": "numpy-global",
    "random.seed": "python-random",
    "polars.set_random_seed": "library-generators",
}


def keep_ranks_apart(edits: Sequence[Edit], difference: Difference, code: Code) -> Sequence[Edit]:
    """The edits, with the rank's number where a constant would stand for what each rank had of its own.

    The number is in the variable that the launcher set: torchrun's, Open MPI's, PMI's or Slurm's. Where the
    code starts its ranks itself, they have it from where they make their process group on. Raises Unfaithful.
    """
    variable = next((name for name in RANKS if name in difference.a.variables), None)
    if variable is not None:
        return list(_give_rank(edits, code, variable))
    if not _starts_processes(code):
        _require_one_process(edits, difference, code)
        return edits
    meetings = _find_meetings(code)
    if not meetings:
        _require_draws_of_the_first(edits, difference)
        return edits
    return list(_seed_where_they_meet(edits, meetings, code))


def has_ranks(difference: Difference, code: Code) -> bool:
    """Whether several processes train together: a launcher's, or such that the code starts itself."""
    launched = any(name in difference.a.variables for name in RANKS)
    return launched or (_starts_processes(code) and bool(_find_meetings(code)))


def _give_rank(edits: Sequence[Edit], code: Code, variable: str) -> Iterator[Edit]:
    for edit in edits:
        if isinstance(edit, Opening) and edit.name in SEEDING and edit.rest == "(0)":
            yield replace(edit, rank=variable, base=_find_base(code, edit.name))
        elif isinstance(edit, Change) and _is_constant_or_draw(edit):
            file = code.file(edit.path)
            if was_of_its_own(edit, file):
                rank, missing = write_rank(file, dict(collect_bound(walk_imports(file.tree.body))), variable)
                # The script may seed torch alike on all ranks, so that they would draw the same seeds.
                text = _put_rank(edit.text, rank)
                edit = replace(edit, text=text, imports=(*edit.imports, *missing))
            yield edit
        else:
            yield edit


def _starts_processes(code: Code) -> bool:
    calls = ((file, call) for file in code.files for call in file.every(ast.Call))
    return any(_name_called(file, call) in _STARTING for file, call in calls)


def _find_meetings(code: Code) -> list[tuple[File, ast.Call]]:
    """Where processes that the code starts itself become ranks."""
    calls = ((file, call) for file in code.files for call in file.every(ast.Call))
    return [(file, call) for file, call in calls if file.called(call).endswith("init_process_group")]


def _require_one_process(edits: Sequence[Edit], difference: Difference, code: Code) -> None:
    """A script that the command starts several times (members of an ensemble, a sweep) seeds each alike.

    Raises Unfaithful where another process of it draws from the generator too, and does not seed it, and
    where the script that starts it may start it again, with other arguments.
    """
    for edit in edits:
        if not isinstance(edit, Opening) or edit.rest != "(0)" or edit.name not in SEEDING:
            continue
        if difference.a.beside.get(SEEDING[edit.name]) or _may_start_again(difference, code):
            raise Unfaithful(
                "the command starts this script several times, and all would draw the same numbers from it; "
                f"seed it by a number that each is given: {edit.name}(number)"
            )


def _may_start_again(difference: Difference, code: Code) -> bool:
    """Whether another script of the user's, which the command starts, starts this one in a loop."""
    words = [str(word) for word in difference.a.manifest.get("command") or ()]
    started = next((word for word in words if word.endswith(".py")), None)
    try:
        if started is None or code.file(started) is code.main:
            return False
        name = code.main.path.rpartition("/")[2]
        code = code.join_file(f"{started}:1")
        file = code.file(started)
    except NoEdit:
        return False
    calls = (call for call in file.every(ast.Call) if file.called(call) in _RUNS_PROGRAM)
    return any(name in ast.unparse(call) and is_repeated(code, file, call) for call in calls)


def _require_draws_of_the_first(edits: Sequence[Edit], difference: Difference) -> None:
    """A seed for the program that is started is that of each process which it starts: they would draw alike.

    By spawn each of them runs the line, by fork each has a copy of the generator. Raises Unfaithful where one
    of them draws from it, and where the first was not seen to.
    """
    for edit in edits:
        if not isinstance(edit, Opening) or edit.rest != "(0)" or edit.name not in SEEDING:
            continue
        id_ = SEEDING[edit.name]
        drawn = {row.process for row in difference.a.rows("draw") if row.name == id_}
        own = {process for process in drawn if "." not in process or ".worker" in process}
        if drawn - own or not (own or id_ in difference.drawn):
            raise Unfaithful(
                "the processes that the code starts would all draw the same numbers from it; seed it in each "
                f"of them, by a number that it is given: {edit.name}(number)"
            )


def _name_called(file: File, call: ast.Call) -> str:
    """The last word of what is called, of a context's method too, which no import names; "" of psutil's."""
    called = file.called(call)
    if called or not isinstance(call.func, ast.Attribute):
        return "" if called.startswith("psutil.") else called.rpartition(".")[2]
    return call.func.attr


def _seed_where_they_meet(
    edits: Sequence[Edit], meetings: Sequence[tuple[File, ast.Call]], code: Code
) -> Iterator[Edit]:
    """The edits; what seeds the program that is started seeds each rank anew, with its number.

    One more than it: the program begins with 0, and what rank 0 drew until then must not come again.
    A program that seeds itself already is left as it is.
    """
    seeded = {edit.name for edit in edits if isinstance(edit, Opening)}
    own = {edit for edit in edits if isinstance(edit, Opening) and _seeds_itself(code, edit.name, meetings)}
    for edit in edits:
        if edit not in own:
            yield edit
        if isinstance(edit, Opening) and edit.name in SEEDING and edit.rest == "(0)":
            for file, call in meetings:
                statement, number = _find_seed_beside(file, call, edit.name)
                seed, needed = write_name(file, edit.name, call)
                rank, also = write_name(file, "torch.distributed.get_rank", call)
                base = _find_base(code, edit.name) or 1
                text = f"{base} + {rank}()" if number is None else f"{number} + 1 + {rank}()"
                line = insert_after(file, statement, f"{seed}({text})")
                yield replace(line, imports=(*needed, *also))
        elif (
            isinstance(edit, Change)
            and (CONSTANT.fullmatch(edit.text) or (DRAW in edit.text and "torch.manual_seed" not in seeded))
            and was_of_its_own(edit, code.file(edit.path))
        ):
            raise Unfaithful(
                "each of the processes that the code starts had a seed of its own; give it its rank's number"
            )


def _find_base(code: Code, function: str) -> int:
    """The number of rank 0, which is none that the script seeds one of its ranks with."""
    seeds = (
        find_argument(call)
        for file in code.files
        for call in file.every(ast.Call)
        if file.called(call) == function
    )
    return _BASE if any(seed is not None for seed in seeds) else 0


def _seeds_itself(code: Code, function: str, meetings: Sequence[tuple[File, ast.Call]]) -> bool:
    """Whether the program that is started seeds by this function, wherever it goes on; not a rank of it."""
    if function not in SEEDING:
        return False
    file, of_ranks = code.main, [other.function(call) for other, call in meetings]
    conditions = (ast.If, ast.IfExp, ast.For, ast.While, ast.Try, ast.Lambda)
    calls = (call for call in file.every(ast.Call) if file.called(call) == function)
    return any(
        not any(isinstance(around, conditions) and not _is_guard(around) for around in file.around(call))
        for call in calls
        if file.function(call) not in of_ranks
    )


def _is_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and is_main_guard(node)


def _find_seed_beside(file: File, meeting: ast.Call, function: str) -> tuple[ast.stmt, str | None]:
    """After which statement a rank is seeded, and by what the script seeds torch there, alike on each rank.

    None where that is a number in the code, or the script seeds each rank by its own.
    """
    at = file.statement(meeting)
    parent = file.parent(at)
    blocks = (getattr(parent, name, None) or [] for name in ("body", "orelse", "finalbody"))
    block = next((block for block in blocks if at in block), [at])
    for place, statement in enumerate(block):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if function == _TORCH or not isinstance(call, ast.Call) or file.called(call) != _TORCH:
            continue
        seed = find_argument(call)
        if seed is None or isinstance(seed, ast.Constant) or "rank" in file.said(seed):
            continue
        between = block[block.index(at) : place]
        return statement if _binds(between, seed) else at, _write_addend(file, seed)
    return at, None


def _binds(statements: Sequence[ast.stmt], value: ast.expr) -> bool:
    """Whether one of these gives a value to a name that stands in it."""
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    inside = [node for statement in statements for node in ast.walk(statement)]
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names for node in inside
    )


def _write_addend(file: File, seed: ast.expr) -> str:
    simple = isinstance(seed, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return file.said(seed) if simple else f"({file.said(seed)})"


def _is_constant_or_draw(edit: Change) -> bool:
    return DRAW in edit.text or CONSTANT.fullmatch(edit.text) is not None


def _put_rank(text: str, rank: str) -> str:
    """The text of an edit, with the rank's number for the constant in it, or added to what it draws."""
    constant = CONSTANT.fullmatch(text)
    if constant is None:
        return text.replace(DRAW, f"{DRAW} + {rank}")
    start, end = constant.span("seed")
    return f"{text[:start]}{rank}{text[end:]}"


def was_of_its_own(edit: Change, file: File) -> bool:
    """Whether what an edit replaces was no value that several lines, or several ranks, share."""
    before = file.text[edit.start : edit.end].strip()
    return before in ("", "None") or before.endswith("seed()") or bool(_OF_ITS_OWN.search(before))
