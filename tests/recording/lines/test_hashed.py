"""What a line hashes, seen as it runs: texts alone, or what may be hashed by its address."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

_START = """
import runpy, sys
from samerun.recording.evidence_log import Journal
from samerun.recording.lines import hashed
from samerun.runs.plan import Plan
journal = Journal(Plan(run=sys.argv[1]))
hashed.watch(journal, sys.argv[2].split(","))
sys.argv[:] = ["train.py"]
runpy.run_path("train.py", run_name="__main__")
print(*(f"{row.call_site} {row.name}" for row in journal.early if row.what == "hashed"), sep="\\n")
print("traced" if sys.gettrace() else "free")
"""


def look(folder: Path, text: str, sites: str) -> list[str]:
    """What is noted of these call sites of a script, and whether it is still followed at its end."""
    (folder / "train.py").write_text(textwrap.dedent(text))
    command = [sys.executable, "-c", _START, str(folder / "run"), sites]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


HOLDS = """
import pathlib, enum, numpy
class Node: pass
class Kind(enum.Enum):
    A = 1
    B = 2
def names(): return {"a", Node()}
class Graph:
    def __init__(self, nodes): self.nodes = set(nodes)
    def order(self):
        return [node for node in self.nodes]
nodes = Graph(NODES)
order = nodes.order()
"""


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ("['a', 'b']", "texts"),
        ("[('a', 1), ('b', 2.0)]", "texts"),
        ("[pathlib.PurePosixPath('a')]", "texts"),
        ("list(Kind)", "texts"),
        ("numpy.array(['a', 'b'])", "texts"),
        ("numpy.array(['a', Node()])", "other"),
        ("['a', Node()]", "other"),
        ("[('a', Node())]", "other"),
        ("[Node]", "other"),
        ("[print]", "other"),
    ],
)
def test_what_a_set_holds(tmp_path: Path, nodes: str, found: str) -> None:
    noted = look(tmp_path, HOLDS.replace("NODES", nodes), "train.py:11")
    assert noted == [f"train.py:11 {found}", "traced" if found == "texts" else "free"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("index = {name: i for i, name in enumerate(words)}", "texts"),
        ("order = list(set(pairs))", "texts"),
        ("order = list(words | {'c'})", "texts"),
        ("order = list(words.union(pairs))", "texts"),
        ("h = hash(name) % 7", "texts"),
        ("h = hash(node) % 7", "other"),
        ("order = list(made())", "other"),  # what a function gives is not known
        ("order = list(by_name['n'])", "other"),
        ("order = sorted(nodes, key=str)", "other"),
    ],
)
def test_what_a_line_hashes(tmp_path: Path, line: str, found: str) -> None:
    text = f"""\
    class Node: pass
    node, name, words, pairs = Node(), "n", {{"a", "b"}}, [("a", 1), ("b", 2)]
    nodes, by_name = {{node}}, {{"n": {{node}}}}
    def made(): return {{"a"}}
    {line}
    """
    assert look(tmp_path, text, "train.py:5")[0] == f"train.py:5 {found}"


def test_an_empty_set_says_nothing_yet(tmp_path: Path) -> None:
    text = """\
    words = set()
    for n in range(3):
        order = list(words)
        words.add(str(n))
    never = 1
    """
    assert look(tmp_path, text, "train.py:3,train.py:9") == ["train.py:3 texts", "traced"]


def test_a_line_that_is_given_now_texts_and_now_objects(tmp_path: Path) -> None:
    text = """\
    def order(of):
        return list(of)
    order({"a", "b"})
    order({1, 2})
    order({object(), object()})
    order({"c"})
    """
    assert look(tmp_path, text, "train.py:2") == ["train.py:2 texts", "train.py:2 other", "free"]


def test_no_line_is_looked_at_for_ever(tmp_path: Path) -> None:
    text = """\
    for n in range(300):
        names = {str(n)} if n < 250 else {object()}
        order = list(names)
    """
    assert look(tmp_path, text, "train.py:3") == ["train.py:3 texts", "free"]


def test_in_a_thread_too(tmp_path: Path) -> None:
    text = """\
    import threading
    def work(words):
        return list(words)
    thread = threading.Thread(target=work, args=({"a"},))
    thread.start()
    thread.join()
    """
    assert look(tmp_path, text, "train.py:3")[0] == "train.py:3 texts"
