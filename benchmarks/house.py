"""Counts what helps or hinders in finding one's way: folders, cycles, complexity, parameters, lines.

    python benchmarks/house.py [FOLDER]

FOLDER is a checkout (default: this one). Cycles are groups of modules that import each other, at run time:
imports under TYPE_CHECKING do not count.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

_CATALOGUE = Path("sources")  # as many files as there are sources
# Signatures there are those of torch's operations and loaders.
_TORCHS_OWN = ("ops/families", "ops/torch_hooks", "data/loader.py", "data/torchdata.py")


def main(root: Path) -> None:
    """Print the counts of one checkout."""
    source = root / "src" / "samerun"
    files = sorted(source.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    folders = Counter(path.parent.relative_to(source) for path in files)
    full = [(str(folder), n) for folder, n in folders.most_common() if n > 25 and folder != _CATALOGUE]
    print(f"modules                         {len(files)}")
    print(f"lines                           {sum(len(path.read_text().splitlines()) for path in files)}")
    print(f"folders of more than 25 files   {len(full)} {full or ''}")
    print(f"groups of modules in a cycle    {_cycles(source.parent, trees)}")
    print(f"functions of complexity > 10    {_complex(source)}")
    own = {
        path: tree
        for path, tree in trees.items()
        if not path.relative_to(source).as_posix().startswith(_TORCHS_OWN)
    }
    lists = [(_parameters(node), f"{path.name}:{node.name}") for path, node in _functions(own)]
    longest, name = max(lists)
    print(f"longest parameter list          {longest} ({name})")


def _functions(trees: dict[Path, ast.Module]) -> list[tuple[Path, ast.FunctionDef]]:
    return [
        (path, node)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if type(node) is ast.FunctionDef
    ]


def _parameters(node: ast.FunctionDef) -> int:
    """How many a function has; a Triton kernel counts as none, since it can be given no object."""
    if any("triton.jit" in ast.unparse(decorator) for decorator in node.decorator_list):
        return 0
    given = node.args
    named = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in named if name not in ("self", "cls")])


def _cycles(src: Path, trees: dict[Path, ast.Module]) -> str:
    names = {path: ".".join(path.relative_to(src).with_suffix("").parts) for path in trees}
    number = {name.removesuffix(".__init__"): at for at, name in enumerate(names.values())}
    edges = set()
    for path, tree in trees.items():
        here = number[names[path].removesuffix(".__init__")]
        for module, name in _imports(tree):
            found = number.get(f"{module}.{name}", number.get(module))
            if found is not None and found != here:
                edges.add((here, found))
    rows, columns = np.array(sorted(edges)).T
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(number), len(number)))
    _, label = connected_components(graph, directed=True, connection="strong")
    groups = [np.flatnonzero(label == which) for which in np.flatnonzero(np.bincount(label) > 1)]
    by_number = list(number)
    return f"{len(groups)} {[[by_number[at] for at in group] for group in groups] or ''}"


def _imports(tree: ast.Module) -> list[tuple[str, str]]:
    """(module, name) of each import at the top of a module: what is imported in a function comes later."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found += [(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return found


def _complex(source: Path) -> str:
    options = ["--isolated", "--select", "C901", "--config", "lint.mccabe.max-complexity=10", "--quiet"]
    command = [sys.executable, "-m", "ruff", "check", *options, "--output-format", "concise", str(source)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    named = sorted(line.split("`")[1] for line in lines if "C901" in line)
    return f"{len(named)} {named or ''}"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent))
