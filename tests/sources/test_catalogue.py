import ast
import subprocess
import sys
from pathlib import Path

import pytest

from samerun.runs.plan import MODES
from samerun.runs.schema import EVIDENCE
from samerun.sources.catalogue import find_sources
from samerun.sources.source import Kind

ROOT = Path(__file__).parents[2]
IDS = {
    "foreign-kernels", "inductor", "stream-race", "triton-autotune",
    "python-random", "numpy-global", "numpy-generator", "torch-cpu", "torch-cuda", "torch-mps", "torch-xpu",
    "hash-seed", "listing-order", "worker-seeds", "worker-arrival", "nondeterministic-kernels",
    "cudnn-benchmark", "cudnn-nondeterministic", "attention-backend", "tf32", "threads",
    "uninitialized-memory", "mkl-first-call", "clock", "os-entropy", "process-id", "memory-address",
    "library-generators",
    "input-data", "resume-state", "thread-scheduling", "code", "arguments", "packages", "hardware",
    "environment", "worker-count", "persistent-workers", "prefetch", "cpu-isa", "matmul-precision",
    "batch-size", "world-size", "locale", "hostname", "user", "working-directory", "contention",
    "extra-loader", "extra-evaluation", "compile", "initialisation", "data-order", "dropout",
    "system-reads",
}  # fmt: skip


def test_the_ids_are_exact():
    assert set(find_sources()) == IDS


@pytest.mark.parametrize("id_", sorted(IDS))
def test_every_source_is_found_by_one_name(id_):
    source = find_sources()[id_]
    assert type(source).__module__ == f"samerun.sources.{id_.replace('-', '_')}"
    page = (ROOT / "docs" / "explanations" / f"{id_}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {id_}\n")
    assert source.summary and source.advice
    assert isinstance(source.kind, Kind)
    assert set(source.modes) <= set(MODES)
    assert source.controllable or not source.modes


def test_the_catalogue_imports_neither_torch_nor_numpy():
    code = (
        "import sys\nfrom samerun.sources.catalogue import find_sources\nfind_sources()\n"
        "print({'torch', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


# Ids that are ordinary words as well: where they stand for something else. None has a hyphen.
WORDS = {
    "runs/schema.py": {"clock", "threads"},  # words of the trace
    "recording/helper_process.py": {"clock", "threads"},  # the same ones
    "recording/opened_files.py": {"threads"},
    "recording/steps/training.py": {"threads"},
    "comparing/without_effect.py": {"threads"},
    "runs/manifest.py": {"environment", "packages"},  # fields of a manifest
    "launching/summarise_traces.py": {"packages"},  # the same one
    "recording/ops/window.py": {"compile"},  # torch.compile
    "recording/replay/fresh_processes.py": {"threads"},  # a setting of torch, for the process that replays
    "recording/replay/worker_main.py": {"threads"},  # the same one
    "runs/lock/file.py": {"code", "environment", "packages"},  # blocks of a lock
    "runs/lock/reader.py": {"code", "environment", "packages"},
    "experiments/lock/result.py": {"environment"},  # the same one, in JSON
    "experiments/verify/result.py": {"environment"},
    "report/junit_lock.py": {"environment"},
    "experiments/verify/changed.py": {"code"},  # a kind of what changed since a lock
    "experiments/verify/changed_line.py": {"code"},
    "experiments/verify/static.py": {"code", "packages"},
    "experiments/verify/as_locked.py": {"code"},
    "experiments/verify/confirm.py": {"code"},
    "experiments/verify/held.py": {"code"},
    "report/exports/in_toto.py": {"code", "packages"},  # blocks of a lock
    "testing/function_lock.py": {"environment"},
    "testing/locked.py": {"threads"},  # a part of a class of machines
    "runs/notebook.py": {"code"},  # a kind of cell
    "integrations/ipython.py": {"code"},  # the same one
    "testing/seed_sensitive.py": {"initialisation"},  # a part of a training, as users name it
}


def ids_in(text: str) -> set[str]:
    """The ids among the strings of a program (alone, or before a colon), but those of docstrings."""
    tree = ast.parse(text)
    documentation = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = (
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node not in documentation
    )
    return {str(node.value).partition(":")[0] for node in strings} & IDS


def test_what_is_known_of_a_source_is_in_its_file():
    package = ROOT / "src" / "samerun"
    files = (path for path in package.rglob("*.py") if not path.is_relative_to(package / "sources"))
    found = {path.relative_to(package).as_posix(): ids_in(path.read_text(encoding="utf-8")) for path in files}
    assert {path: ids for path, ids in found.items() if ids} == WORDS
    assert not any("-" in id_ for ids in WORDS.values() for id_ in ids)


def test_an_id_elsewhere_is_found():
    assert ids_in('def f():\n    """hash-seed"""\n    return {"tf32": 1}, f"numpy-global:{f}"') == {
        "tf32",
        "numpy-global",
    }


def test_labels_have_places_of_their_own():
    for name in ("price", "studied_as", "lost"):
        labels = [label for source in find_sources().values() if (label := getattr(source, name, None))]
        assert labels and len({label.at for label in labels}) == len(labels)


def test_evidence_is_a_word_of_the_trace():
    assert {source.evidence for source in find_sources().values()} - {""} <= set(EVIDENCE)
