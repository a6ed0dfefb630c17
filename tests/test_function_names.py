"""Functions are verbs: nearly every module-level function of src has a name that does or asks something."""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST = 0.02  # of all module-level functions
# The first word of a name: a verb of the list, which grows with the names, or that of a question.
_VERBS = """
    act add admit adopt advise aim align answer append apply arrange ask assert assign attach audit
    average avoid become begin bind bisect blank blend bring broadcast build call cancel capture carry
    change check choose claim classify clean clear clip clone close coarsen collect colour combine
    come compare compile complain complete compute confirm connect convert copy correlate count cover create
    cut decide decode deduplicate demand derive describe detach diagnose diff digest direct disable
    discard dispatch distribute divert divide do drain draw dress drop duplicate edit embed encode
    end ensure escape estimate examine excerpt exclude expand explain export extend extract fail
    fetch fill filter finalise find finish fit fix flatten flip flush fold follow forget fork form
    format frame free gather get give go group guard guess hand handle hash hide highlight hint hold
    identify ignore import index infer insert inspect install intersect join judge keep key knock
    know label launch lead learn leave let limit link list load locate lock log look lower make map
    mark mask match may measure meet memorise mend merge mix move multiply name narrow normalise
    note number observe offer open operate order overlap own pack pad pair parse part pass patch
    permute perturb pick place plan point pop predict prefix prepare price print probe process
    project propagate prune pull put qualify quote raise rank_all reach read rebuild recall receive
    recognise record reduce reflect refuse register release remember remove rename render renumber
    reorder repeat replace replay replicate report request require rerun resample reseed reset
    reshape resolve restore resume return revert rewrite round route run sample save say scale scan
    score seal search see seed select send separate set share shift shorten show shuffle sign
    silence sketch skip slice sort spawn spell split spread stack stand start step stop store
    stream_out stride strip study style subtract suggest sum summarise swap switch sync tag take
    tell temper test thin time trace track train transform translate trust try undo unfreeze
    uninstall unpack unravel unroll unwrap update validate vary verify view wait walk warn watch
    weigh wrap write zero zoom
"""
_QUESTIONS = """
    acts appends are augments began begins belongs binds brings can cannot cleans computes decides did
    differs does draws ends finalises finds forks gives goes had hands has hashes holds is keeps keys lacks
    leaves lies lists lives loses makes may must names needed needs only owns passes points pops prepares
    reads returns seeds shares should shows stands starts takes trains uses waits was were works
    writes
"""
# Words of the field that are public, and `main`.
_OF_THE_FIELD = """
    main stream rank world_size split kfold permutation generator worker_seed sample_stream rank_stream
    stream_seed worker_init_fn stateful control seed_everything isolate_rng vary cost
"""
VERBS, QUESTIONS, OF_THE_FIELD = (frozenset(words.split()) for words in (_VERBS, _QUESTIONS, _OF_THE_FIELD))
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def test_functions_are_verbs() -> None:
    surface = json.loads((ROOT / "tests/surface/surface.json").read_text())["python"]
    public = {name for names in surface.values() for name in names}
    total, others = 0, []
    for path in sorted((ROOT / "src/samerun").rglob("*.py")):
        for name in functions(ast.parse(path.read_text(encoding="utf-8"))):
            total += 1
            if name.startswith("pytest_"):
                continue  # a hook, which pytest names
            of_torch = path.parent.name == "families" and not name.startswith("_")
            if not (is_verb(name) or name in public or of_torch):
                others.append(f"{path.relative_to(ROOT)}: {name}")
    assert total > 1000
    assert len(others) <= MOST * total, "\n".join(["names that say neither what is done nor asked:", *others])


def test_a_participle_is_none() -> None:
    assert is_verb("read_trace") and is_verb("_is_open")
    assert not is_verb("told") and not is_verb("_rows") and not is_verb("shown_lines")


def functions(tree: ast.Module) -> list[str]:
    """The names of those of the module itself, also under `if` and `try`."""
    found, bodies = [], [tree.body]
    while bodies:
        for node in bodies.pop():
            if isinstance(node, _FUNCTION):
                found.append(node.name)
            elif isinstance(node, (ast.If, ast.Try, ast.With)):
                bodies += [getattr(node, part, []) for part in ("body", "orelse", "finalbody")]
    return found


def is_verb(name: str) -> bool:
    """Whether a function's name says that it does or asks something, or is a word of the field."""
    first = name.strip("_").split("_")[0]
    return name in OF_THE_FIELD or name.startswith("__") or first in VERBS or first in QUESTIONS
