"""hash-seed and memory-address name the line that goes through a set, by what is in it.

Covers `edits/container_elements.py`, `evidence/hash_order.py` and `evidence/rows.py`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from samerun.runs.difference import Difference, Evidence, Row
from samerun.sources.hash_seed import HashSeed
from samerun.sources.memory_address import MemoryAddress

from .mending import Program, differing


def seen(program: Program, *rows: tuple[Row, Row], **columns) -> tuple[Evidence | None, Evidence | None]:
    settings = {"hash-seed": {"PYTHONHASHSEED": None}}
    difference: Difference = program.difference(*rows, settings=settings, **columns)
    return HashSeed().recognise(difference), MemoryAddress().recognise(difference)


def told(evidence: Evidence | None) -> tuple[float, str | None] | None:
    return None if evidence is None else (evidence.strength, evidence.call_site)


def test_strings_are_the_hash_seed_s_at_the_line_that_goes_through_them(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        "words = set('a b c'.split())\nprint(len(words))\nids = {w: i for i, w in enumerate(words)}\n",
    )
    hashed, address = seen(program)
    assert told(hashed) == (0.4, "train.py:3")
    assert address is None


def test_modules_and_parameters_are_ordered_by_address(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        from torch import nn
        net = nn.Linear(2, 2)
        rest = set(net.parameters()) - {net.bias}
        for p in rest:
            nn.init.normal_(p)
        """,
    )
    hashed, address = seen(program)
    assert hashed is not None and hashed.strength < 0.2
    assert told(address) == (0.7, "train.py:4")


def test_objects_of_the_user_s_own(tmp_path: Path) -> None:
    text = "class Node:\n    pass\nnodes = [Node() for _ in range(9)]\nleft = set(nodes)\nx = left.pop()\n"
    assert told(seen(Program(tmp_path, text))[1]) == (0.7, "train.py:5")
    text = text.replace("    pass", "    def __hash__(self): return 1")
    assert told(seen(Program(tmp_path, text))[1]) == (0.3, "train.py:5")  # what they are is not known


def test_of_what_is_not_known_the_hash_seed_comes_first(tmp_path: Path) -> None:
    text = "import config\nfor kind in set(config.KINDS):\n    config.add(kind, 1)\n    kind.go()\n"
    program = Program(tmp_path, text)
    hashed, address = seen(program)
    assert (told(hashed), told(address)) == ((0.4, "train.py:2"), (0.3, "train.py:2"))


def test_a_difference_in_the_body_of_a_loop_through_a_set(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import torch
        tasks = {"a", "b", "c"}
        losses = {t: torch.rand(1) for t in sorted(tasks)}
        total = 0
        for t in tasks:
            total = total + losses[t]
        other = total * 2
        """,
    )
    inside = dict(phase="forward", what="operation", call_site=program.at("total = total"))
    assert told(seen(program, **inside)[0]) == (0.7, "train.py:5")
    assert seen(program, **{**inside, "call_site": program.at("other")})[0] is None


def test_sets_that_are_only_looked_into_are_no_order(tmp_path: Path) -> None:
    program = Program(
        tmp_path, "keep = {'a', 'b'}\nn = [w for w in ['a', 'c'] if w in keep]\nprint(sorted(keep))\n"
    )
    hashed, address = seen(program)
    assert told(hashed) == (0.4, "train.py:1")  # the set alone, as before: likelier than nothing
    assert address is None


def test_a_set_of_weak_references_is_gone_through_by_address(tmp_path: Path) -> None:
    text = "import weakref\nseen = weakref.WeakSet()\nfor node in nodes:\n    seen.add(node)\n"
    assert told(seen(Program(tmp_path, text))[1]) == (0.7, "train.py:2")


NODE = """
from dataclasses import dataclass
@dataclass(eq=False)
class Node:
    name: str
nodes = [Node(f"n{i}") for i in range(9)]
"""
POOL = """
class Pool:
    def __init__(self):
        self.parts = []
    def add(self, nodes):
        self.parts.append(nodes)
    def unique(self):
        return list({node for nodes in self.parts for node in nodes})
pool = Pool()
"""


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (POOL + "pool.add(nodes[:5])\npool.add(nodes[3:])\n", "object"),
        (POOL + "pool.add(['a', 'b'])\n", "text"),
        (POOL + "pool.add(['a', 'b'])\npool.add(nodes)\n", "unknown"),
        (POOL + "pool.add(nodes)\npool.add(read())\n", "unknown"),
        (POOL, "unknown"),  # nothing is put in
        ("order = list({nodes[0], nodes[-1]})\n", "object"),
        ("order = list({node.name for node in nodes})\n", "text"),
        ("order = list(set('b a'.split()) | {'c'})\n", "text"),
        ("order = list(set('b a'.split()) | {3})\n", "unknown"),
        ("order = list({'a'} | set(nodes))\n", "unknown"),
        ("order = list({'a'} - set(nodes))\n", "text"),
        ("both = nodes\norder = list({both[0], *both})\n", "object"),
        ("order = list({{'a': 3}['a'], 4})\n", "unknown"),
        ("order = list({number for number, _ in enumerate('abc')})\n", "unknown"),
        ("order = list({letter for letter in 'abc'})\n", "text"),
        ("def f(word: str):\n    return list({word})\n", "text"),
        ("rest = nodes\nrest = rest[1:]\norder = list(set(rest))\n", "object"),
        ("rest = rest\norder = list({rest})\n", "unknown"),
    ],
)
def test_what_is_in_a_set(code: str, kind: str, tmp_path: Path) -> None:
    hashed, address = seen(Program(tmp_path, NODE + code))
    strengths = {
        "text": (0.4, None),
        "object": (0.1, 0.7),
        "unknown": (0.4, 0.3),
    }
    found = tuple(None if item is None else item.strength for item in (hashed, address))
    assert found == strengths[kind]


@pytest.mark.parametrize(
    ("line", "strength"),
    [
        ("part = (id(x) >> 4) % 7", 0.3),
        ("part = x.data_ptr() // 64 & 7", 0.3),
        ("part = seen[id(x)]", None),
        ("part = id(x) == id(y)", None),
        ("part = x.id % 7", None),
    ],
)
def test_a_number_made_of_an_address(line: str, strength: float | None, tmp_path: Path) -> None:
    found = seen(Program(tmp_path, f"import torch\nx = y = object()\n{line}\n"), phase="data", what="input")[
        1
    ]
    assert told(found) == (strength and (strength, "train.py:3"))


@pytest.mark.parametrize(("other", "strength"), [("2.pt", 0.7), ("1.pt", None)])
def test_that_another_file_was_read_explains_nothing_and_that_one_has_changed_does(
    tmp_path: Path, other: str, strength: float | None
) -> None:
    program = Program(
        tmp_path,
        """
        import glob, torch
        shards = set(glob.glob("*.pt")) - {"0.pt"}
        for path in shards:
            x = torch.load(path)
        """,
    )
    site = program.at("torch.load")
    one, two = differing("opened", "open", site, detail="1.pt")
    hashed, _ = seen(program, (one, replace(two, detail=other)), phase="data", what="input", call_site=site)
    assert (None if hashed is None else hashed.strength) == strength


def test_a_loop_over_weak_references_is_the_line_of_their_order(tmp_path: Path) -> None:
    text = """
    import weakref
    class Node:
        alive = weakref.WeakSet()
        def __init__(self):
            Node.alive.add(self)
        @classmethod
        def number(cls):
            return {node: n for n, node in enumerate(cls.alive)}
    """
    program = Program(tmp_path, text)
    assert told(seen(program)[1]) == (0.7, program.at("enumerate(cls.alive)"))


@pytest.mark.parametrize(
    ("wait", "loop", "by_address"),
    [
        ("done, late = wait(futures)", "for f in done", True),
        ("done = wait(futures, timeout=9).done", "for f in done", True),
        ("done = wait(futures)[0]", "for f in done", True),
        ("done, late = wait(futures, return_when=ALL_COMPLETED)", "for f in done", True),
        ("done, late = wait(futures, return_when='FIRST_COMPLETED')", "for f in done", False),
        ("done, late = wait(futures)", "for f in futures", False),
    ],
)
def test_the_futures_that_wait_gives_come_by_address(tmp_path, wait, loop, by_address) -> None:
    """They are sets, whatever the order in which the futures were made or are done."""
    text = f"""
    from concurrent.futures import ALL_COMPLETED, wait
    futures = [pool.submit(describe, item) for item in items]
    {wait}
    rows = []
    {loop}:
        rows.append(f.result())
    """
    program = Program(tmp_path, text)
    found = told(seen(program, phase="data", what="input")[1])
    assert found == ((0.7, program.at(loop)) if by_address else None)


def test_futures_that_wait_gives_are_put_into_the_order_of_their_list(tmp_path) -> None:
    text = """
    from concurrent.futures import wait
    futures = [pool.submit(describe, item) for item in items]
    done, _ = wait(futures)
    rows = [f.result() for f in done]
    """
    program = Program(tmp_path, text)
    patched = program.mended("memory-address", site=program.at("for f in done"))
    assert "for f in [item for item in dict.fromkeys(futures) if item in done]" in patched


WRITES = """
import json
labels = list({row["label"].strip() for row in rows})
json.dump(labels, open("labels.json", "w"))
"""


@pytest.mark.parametrize(
    ("before", "helper", "strength"),
    [("", True, 0.7), ("sorted", True, None), ("", False, None), ("drawn", True, 0.4)],
)
def test_a_file_that_another_program_made_of_a_set(tmp_path, before, helper, strength) -> None:
    """The training reads what another program of the command wrote, in the order of its hashes."""
    text = WRITES.replace("list(", "sorted(") if before == "sorted" else WRITES
    program = Program(tmp_path, "import json\nlabels = json.load(open('labels.json'))\n")
    (tmp_path / "prepare.py").write_text(text)
    process = "rank0.helper-1" if helper else "rank0"
    wrote = differing("written", "open", "prepare.py:4", detail="labels.json", process=process)
    read = differing("opened", "open", "train.py:2", detail="labels.json")
    drew = [differing("entropy", "os.urandom", "prepare.py:9", process=process)] if before == "drawn" else []
    found = seen(program, wrote, read, *drew)[0]
    assert told(found) == (None if strength is None else (strength, "prepare.py:3"))


@pytest.mark.parametrize(
    ("phase", "what", "strength"),
    [
        ("data", "batch", 0.7),
        ("evaluation", "input", 0.7),
        ("forward", "input", 0.7),
        ("forward", "output", None),
    ],
)
def test_what_a_model_is_given_is_data_in_whatever_phase(
    tmp_path: Path, phase: str, what: str, strength: float | None
) -> None:
    program = Program(
        tmp_path,
        """
        class Item:
            pass

        pool = set(Item() for _ in range(9))

        def choose():
            return [item for item in pool][:4]
        """,
    )
    _, address = seen(program, phase=phase, what=what)
    assert told(address) == (strength and (strength, program.at("for item in pool")))
