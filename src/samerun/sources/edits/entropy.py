"""The edits that draw from a seeded generator instead of the operating system's entropy."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence

from samerun.editing.data_flow import find_behind
from samerun.editing.edit import Edit, Opening, Unfaithful
from samerun.editing.edit_builders import call_instead, replace_node
from samerun.editing.import_names import write_name
from samerun.editing.run_counts import runs_once
from samerun.editing.source_file import File, get_last_name
from samerun.editing.user_program import Code
from samerun.runs.difference import Difference, Row
from samerun.sources.edits import seeds
from samerun.sources.edits.field_factories import seed_factories
from samerun.sources.evidence import rows

# What draws like it from Python's global generator.
_INSTEAD = {
    "os.urandom": "random.randbytes",
    "os.getrandom": "random.randbytes",
    "secrets.token_bytes": "random.randbytes",
    "secrets.randbits": "random.getrandbits",
    "secrets.randbelow": "random.randrange",
    "secrets.choice": "random.choice",
}
# Lines where what is drawn names something.
_NAMES = re.compile(r"(name|path|dir|folder|file|log|tag|run_id)\w*\s*=[^=]|print\(|mkdtemp")
_FUNCTIONS = frozenset(random.__all__)  # among them all that its generators draw by
_MAKERS = ("random.Random", "random.SystemRandom", "secrets.SystemRandom")


def draw_instead(code: Code, site: str | None, reads: Sequence[Row], difference: Difference) -> list[Edit]:
    """Draws from a seeded generator, at `site` and at the other lines that read entropy but for a name."""
    often = seeds.find_repeated(reads)
    edits: list[Edit] = []
    for at in dict.fromkeys(row.call_site for row in reads if row.call_site):
        if at == site or not _NAMES.search(rows.read_source_line(difference.a, at)):
            processes = {row.process for row in reads if row.call_site == at}
            in_worker = any(".worker" in process for process in processes)
            if len(processes) > 1 and not in_worker:
                raise Unfaithful(
                    f"several processes read it at {at}, and would all draw the same: seed a generator in "
                    "each of them, by a number that it is given"
                )
            edits += seed_line(code, str(at), at in often, difference, in_worker=in_worker)
    return edits


def seed_line(
    code: Code, site: str, many: bool, difference: Difference, *, in_worker: bool = False
) -> list[Edit]:
    """The edits of the line at `site`; [] when nothing there reads entropy. `many`: it ran more than once.

    Workers of a DataLoader draw from Python's generator, which torch seeds in each: of one that is made
    outside each has a copy, anew in each epoch. Raises Unfaithful where that cannot draw so.
    """
    edits: list[Edit] = []
    file, calls = code.calls(site)
    if classes := {node.name for other in code.files for node in other.every(ast.ClassDef)}:
        made = not classes.isdisjoint(map(get_last_name, calls))
        if made and (fields := seed_factories(code, _MAKERS[:1], "random.getrandbits", "64")):
            return [*fields, *_seed_at_start(difference, site)]
    for call in calls:
        name = file.called(call)
        if name in _MAKERS:
            often = many or not (in_worker or runs_once(code, file, call))  # a worker's is torch's to seed
            edits += _seed_generator(code, file, call, often, difference, site)
        elif name in _INSTEAD:
            edits += [call_instead(file, call, _INSTEAD[name]), *_seed_at_start(difference, site)]
        elif name == "uuid.uuid4":
            edits += [*_make_identifier(file, call), *_seed_at_start(difference, site)]
        elif isinstance(call.func, ast.Attribute) and not name:
            edits += _seed_behind(code, file, call, difference, site, in_worker=in_worker)
    return list(dict.fromkeys(edits))


def _seed_behind(
    code: Code, file: File, call: ast.Call, difference: Difference, site: str, *, in_worker: bool
) -> list[Edit]:
    """The edits for a draw by a generator that was made elsewhere."""
    assert isinstance(call.func, ast.Attribute)
    method, edits = call.func.attr, list[Edit]()
    for other, maker in find_behind(code, (file, call.func.value), _is_unseeded):
        assert isinstance(maker, ast.Call)
        if in_worker:
            edits += _draw_from_module(file, call, method, difference)
        elif _may_be_copied(code, other, maker, method):
            edits += [call_instead(file, call, f"random.{method}"), *_seed_at_start(difference, site)]
        else:
            often = not runs_once(code, other, maker)
            edits += _seed_generator(code, other, maker, often, difference, site)
    return edits


def _draw_from_module(file: File, call: ast.Call, method: str, difference: Difference) -> list[Edit]:
    if method not in _FUNCTIONS:
        raise Unfaithful(
            f"each worker of the DataLoader would have a copy of the generator whose {method} is called at "
            f"{file.site(call.lineno)}: draw from the `random` module, which torch seeds there"
        )
    seeded = seeds.is_seeded(difference, "torch.manual_seed")
    opening = [] if seeded else [Opening("torch.manual_seed", "(0)")]
    return [call_instead(file, call, f"random.{method}"), *opening]


def _may_be_copied(code: Code, file: File, maker: ast.Call, method: str) -> bool:
    """Whether workers may get copies of a generator that had no state; with other arguments, if not here."""
    loads = any(get_last_name(call) == "DataLoader" for each in code.files for call in each.every(ast.Call))
    return loads and file.called(maker) != "random.Random" and method in _FUNCTIONS


def _is_unseeded(file: File, node: ast.expr) -> bool:
    name = file.called(node)
    return (
        name in _MAKERS
        and isinstance(node, ast.Call)
        and (name != "random.Random" or seeds.is_nothing(seeds.find_argument(node)))
    )


def _seed_generator(
    code: Code, file: File, call: ast.Call, many: bool, difference: Difference, site: str
) -> list[Edit]:
    """`random.Random(0)`; where a line makes several, each gets a seed from the global generator."""
    seed = "0"
    missing: tuple[str, ...] = ()
    more: list[Edit] = []
    if many:
        draw, missing = write_name(file, "random.getrandbits", call)
        seed, more = f"{draw}(64)", _seed_at_start(difference, site)
    if file.called(call) == "random.Random":
        return [*seeds.give_seed(code, file, call, seed, missing), *more]
    made, needed = write_name(file, "random.Random", call)
    return [replace_node(file, call, f"{made}({seed})", (*needed, *missing)), *more]


def _make_identifier(file: File, call: ast.Call) -> list[Edit]:
    made, needed = write_name(file, "uuid.UUID", call)
    draw, missing = write_name(file, "random.getrandbits", call)
    return [replace_node(file, call, f"{made}(int={draw}(128))", (*needed, *missing))]


def _seed_at_start(difference: Difference, site: str) -> list[Edit]:
    """Python's generator has a seed before this line draws from it."""
    seeded = seeds.is_seeded(difference, "random.seed", before=site)
    return [] if seeded else [Opening("random.seed", "(0)")]
