"""A line that took another seed in each call draws them: one constant would make all its calls alike.

Members of an ensemble, epochs and samples would have the same numbers then, and the training another meaning.
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from samerun.editing.data_flow import find_behind, find_given
from samerun.editing.edit import Change, Edit, NoEdit, Opening, Unfaithful
from samerun.editing.import_names import write_name
from samerun.editing.names import is_main_guard
from samerun.editing.run_counts import is_repeated, runs_once
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.runs.schema import WORKER, takes_tasks
from samerun.sources.edits.seeds import find_argument, is_seeded

CONSTANT = re.compile(
    r"(?:(?:, )?(?:seed|sampler)=)?(?:[\w.]+\(\)\.)?(?:[\w.]+\((?:seed=)?)?(?P<seed>0)"
    r"(?:\)(?:\.initial_seed\(\))?|, | if .* is None else .*)?"
)
_OF_WORKER = re.compile(
    r"(?:[\w.]+\()?(?P<seed>[\w.]*initial_seed\(\)(?: % 2\*\*32)?)\)?"
)  # one for all samples
_OF_EACH_CALL = re.compile(
    r"\b(uuid[14]|urandom|token_\w+|randbits|randbelow|SystemRandom|getrandbits|getentropy|randint|randrange"
    r"|time|\w+_ns|perf_counter|monotonic|process_time|now|utcnow|today|timestamp)\b|\.seed\(\)|^\s*(None)?\s*$"
)
# What an edit draws from, and what seeds that.
_SEEDED_BY = (
    (re.compile(r"\(2\*\*31, \(\)\)\.item\(\)|initial_seed\(\)"), "torch.manual_seed"),
    (re.compile(r"\brandint\(2\*\*31\)"), "np.random.seed"),
    (re.compile(rf"\b(getrandbits|randbytes)\(|^(?:\w+\.)*({'|'.join(random.__all__)})$"), "random.seed"),
)
_PUT_BACK = {
    "torch.manual_seed": frozenset({"fork_rng", "isolate_rng", "set_rng_state", "set_rng_state_all"}),
    "np.random.seed": frozenset({"isolate_rng", "set_state"}),
    "random.seed": frozenset({"isolate_rng", "setstate"}),
}
_READS = ("seed", "unseeded", "entropy", "clock", "identity", "address", "system")
DRAW = "(2**31, ()).item()"  # of torch.randint


def keep_calls_apart(edits: Sequence[Edit], difference: Difference, code: Code) -> Sequence[Edit]:
    """The edits, with a draw from torch's generator where a constant would stand for what each call had.

    That generator has a seed then, and in each worker of a DataLoader one of its own. Raises Unfaithful where
    several processes run the line, which would all draw alike, and where the script puts that generator back.
    """
    kept: list[Edit] = []
    for edit in edits:
        drawn = _draw_instead(edit, difference, code) if isinstance(edit, Change) else None
        kept.append(drawn or edit)
        if isinstance(kept[-1], Change):
            _require_new_draws(kept[-1], difference, code)
            _require_no_import_in_each(kept[-1], difference, code)
    if kept == list(edits):
        return edits
    if is_seeded(difference, "torch.manual_seed"):
        _require_one_seed(difference)
        return kept
    return [*kept, Opening("torch.manual_seed", "(0)")]


def _require_new_draws(edit: Change, difference: Difference, code: Code) -> None:
    """Raises Unfaithful where what an edit draws from is taken back, and would give the same again."""
    functions = [function for text, function in _SEEDED_BY if text.search(edit.text)]
    if not functions:
        return
    file = code.file(edit.path)
    site = file.site(file.line_of(edit.start))
    again = next(
        (
            each
            for each in functions
            if _comes_again(each, site, difference) or _may_seed_alike(each, difference, code)
        ),
        None,
    )
    if again is not None:
        raise Unfaithful(
            f"the script seeds by {again} alike again and again, and {site} would draw the same each "
            "time: give it numbers of a generator of its own, made once"
        )
    if _OF_WORKER.fullmatch(edit.text) is None:  # that is no draw
        _require_no_return(functions, site, code)
    if any(".worker" in row.process for row in difference.a.evidence if row.call_site == site):
        _require_one_seed(difference)
        _require_lasting_generators(code)


def _require_no_import_in_each(edit: Change, difference: Difference, code: Code) -> None:
    """Raises Unfaithful for a generator of a module's own, which each spawned process makes as it imports it.

    A constant would make them all alike, and torch seeds a worker only after that.
    """
    if not any(pattern.search(edit.text) for pattern in (CONSTANT, *(text for text, _ in _SEEDED_BY))):
        return
    file = code.file(edit.path)
    node = find_node(file, edit)
    if node is None or file.function(node) is not None:
        return
    if any(isinstance(outer, ast.stmt) and is_main_guard(outer) for outer in file.around(node)):
        return
    site = file.site(file.line_of(edit.start))
    rows = [row for row in difference.a.evidence if row.call_site == site]
    made = [row for row in rows if row.what in ("unseeded", "entropy")]
    if made and (_may_spawn(code) or any(f".{WORKER}" in row.process for row in made)):
        raise Unfaithful(
            f"each process that is spawned imports {site} before torch seeds it, and all would draw the "
            "same: make that generator in the worker_init_fn= of the DataLoader, with torch.initial_seed()"
        )


def _may_spawn(code: Code) -> bool:
    """Whether the code names a way to start processes that import it anew."""
    return any(
        node.value in ("spawn", "forkserver") for file in code.files for node in file.every(ast.Constant)
    )


def _comes_again(function: str, site: str, difference: Difference) -> bool:
    """Whether a line is reached twice as often after two seedings of one process that are alike."""
    met: set[tuple[str, bytes | None, int]] = set()
    last: dict[str, bytes | None] = {}
    since: Counter[str] = Counter()
    for row in difference.a.evidence:
        if row.what == "seed" and row.name == function:
            last[row.process], since[row.process] = row.digest, 0
        elif row.call_site == site and row.what in _READS and row.process in last:
            key = row.process, last[row.process], since[row.process]
            if key in met:
                return True
            met.add(key)
            since[row.process] += 1
    return False


def _may_seed_alike(function: str, difference: Difference, code: Code) -> bool:
    """Whether a function that seeds with one number, and was called once, may be called again otherwise.

    What ran more than once, the records tell of.
    """
    rows = [row for row in difference.a.rows("seed", function) if f".{WORKER}" not in row.process]
    ran = Counter((row.process, row.call_site) for row in rows)
    for site in {site for (_, site), count in ran.items() if count == 1 and site is not None}:
        try:
            file, calls = code.calls(site)
        except NoEdit:
            continue
        for call in calls:
            outer, seed = file.function(call), find_argument(call)
            if outer is None or seed is None:
                continue
            given = (
                [seed]
                if isinstance(seed, ast.Constant)
                else [node for _, node in find_given(code, (file, seed))]
            )
            alike = bool(given) and all(isinstance(node, ast.Constant) for node in given)
            if alike and is_repeated(code, file, outer.body[0]):
                return True
    return False


def _require_no_return(functions: Collection[str], site: str, code: Code) -> None:
    """Raises Unfaithful where the code may put a generator back again and again, as `fork_rng` does."""
    names = frozenset[str]().union(*(_PUT_BACK[function] for function in functions))
    for file in code.files:
        for call in file.every(ast.Call):
            name = get_last_name(call)
            if name in names and is_repeated(code, file, call):
                raise Unfaithful(
                    f"{name} at {file.site(call.lineno)} puts generators back, and {site} may draw the same "
                    "each time: give it numbers of a generator of its own, made once"
                )


def _require_lasting_generators(code: Code) -> None:
    """Raises Unfaithful where a DataLoader is given a generator that is made anew for each pass.

    Its workers are seeded by it.
    """
    for file in code.files:
        for call in file.every(ast.Call):
            given = next((item.value for item in call.keywords if item.arg == "generator"), None)
            if given is None or get_last_name(call) != "DataLoader":
                continue
            made = find_behind(
                code, (file, given), lambda other, node: other.called(node) == "torch.Generator"
            )
            places = [*made] or [(file, call)]
            if any(is_repeated(code, *place) for place in places):
                raise Unfaithful(
                    f"the DataLoader at {file.site(call.lineno)} seeds its workers by a generator that may "
                    "be made anew for each pass, and all passes would draw the same there: make it once"
                )


def _draw_instead(edit: Change, difference: Difference, code: Code) -> Change | None:
    """The same with a draw, None where the constant is right: the line had one value in a run."""
    constant, of_worker = CONSTANT.fullmatch(edit.text), _OF_WORKER.fullmatch(edit.text)
    found = constant or of_worker
    if found is None:
        return None
    file = code.file(edit.path)
    node, site = find_node(file, edit), file.site(file.line_of(edit.start))
    rows = [row for row in difference.a.evidence if row.call_site == site and row.what in _READS]
    if of_worker and max(Counter(row.process for row in rows).values(), default=0) < 2:
        return None
    varies = node is not None and _varies(edit, file, node, rows, difference, code)
    _require_one_process(rows, site, varies=varies)
    if node is None or not (varies or (constant and _had_entropy_in_workers(rows))):
        return None
    name, missing = write_name(file, "torch.randint", node)
    start, end = found.span("seed")
    text = f"{edit.text[:start]}{name}{DRAW}{edit.text[end:]}"
    return replace(edit, text=text, imports=(*edit.imports, *missing))


def _had_entropy_in_workers(rows: Sequence[Row]) -> bool:
    """Whether workers of a DataLoader alone run the line, each of which had its own numbers by it."""
    in_workers = bool(rows) and all(".worker" in row.process for row in rows)
    return in_workers and any(row.what in ("unseeded", "entropy") for row in rows)


def _varies(
    edit: Change, file: File, node: ast.AST, rows: Sequence[Row], difference: Difference, code: Code
) -> bool:
    """Whether the line has several values in one run; what was recorded says so, else its text."""
    given: dict[str, Counter[bytes | None]] = {}
    for row in rows:
        if row.what == "seed":
            given.setdefault(row.process, Counter())[row.digest] += 1
    if any(len(values) > 1 for values in given.values()):
        return True
    if any(values.total() > 1 for values in given.values()):
        return False  # the same each time
    before = file.text[edit.start : edit.end]
    drawn = any(row.what in ("unseeded", "entropy") for row in rows)
    if not (_OF_EACH_CALL.search(before) or drawn or _is_made_of_such(code, file, node)):
        return False
    counts = Counter((row.process, row.what, row.name) for row in rows)
    if max(counts.values(), default=0) > 1:
        return True
    return not runs_once(code, file, node)  # with other arguments it may run again, where it ran once here


def _is_made_of_such(code: Code, file: File, node: ast.AST) -> bool:
    """Whether a seed comes, by names and attributes, from a call that gives another value each time it runs.

    One that runs once gives one value, which all that is made of it shares.
    """
    if not isinstance(node, ast.expr):
        return False
    behind = find_behind(
        code,
        (file, node),
        lambda other, part: isinstance(part, ast.Call) and _OF_EACH_CALL.search(other.said(part)) is not None,
    )
    return any(not runs_once(code, *place) for place in behind)


def find_node(file: File, edit: Change) -> ast.AST | None:
    """The smallest part of the code that the change lies in."""
    found: tuple[int, ast.AST] | None = None
    for node in file.every(ast.expr, ast.stmt):
        try:
            start, end = file.span(node)
        except NoEdit:  # in a string, where places are not known
            continue
        if start <= edit.start and edit.end <= end and (found is None or end - start < found[0]):
            found = end - start, node
    return None if found is None else found[1]


def _require_one_process(rows: Sequence[Row], site: str, *, varies: bool) -> None:
    own = [row for row in rows if ".worker" not in row.process]
    processes = {row.process for row in own}
    seeds = {row.digest for row in own if row.what == "seed"}
    differ = varies or len(seeds) > 1 or any(row.what in ("unseeded", "entropy") for row in own)
    if (len(processes) > 1 or any(map(takes_tasks, processes))) and differ:
        raise Unfaithful(
            f"several processes run {site}, each with a seed of its own; make it of what each of them is "
            "given: np.random.default_rng([seed, number_of_the_task])"
        )


def _require_one_seed(difference: Difference) -> None:
    """Not of several lines: a framework seeds once what the script has seeded. Raises Unfaithful."""
    rows = (row for row in difference.a.rows("seed", "torch.manual_seed") if ".worker" not in row.process)
    again = Counter((row.process, row.digest, row.call_site) for row in rows)
    if max(again.values(), default=0) > 1:
        raise Unfaithful(
            "this line has another seed in each call, and the script seeds torch alike again and again: give "
            "it numbers of a generator of its own, random.Random(0) for one, made once"
        )
