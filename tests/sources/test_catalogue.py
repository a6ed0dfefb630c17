import subprocess
import sys
from pathlib import Path

import pytest

from samerun.runs.plan import MODES
from samerun.sources.catalogue import catalogue

ROOT = Path(__file__).parents[2]
IDS = {
    "python-random", "numpy-global", "numpy-generator", "torch-cpu", "torch-cuda", "torch-mps", "torch-xpu",
    "hash-seed", "listing-order", "worker-seeds", "worker-arrival", "nondeterministic-kernels",
    "cudnn-benchmark", "cudnn-nondeterministic", "attention-backend", "tf32", "threads",
    "uninitialized-memory", "mkl-first-call", "clock", "os-entropy", "process-id", "memory-address",
    "input-data", "resume-state", "thread-scheduling", "code", "arguments", "packages", "hardware",
    "environment", "worker-count", "persistent-workers", "prefetch", "cpu-isa", "matmul-precision",
    "batch-size", "world-size", "locale", "hostname", "user", "working-directory", "contention",
    "extra-loader", "extra-evaluation", "compile", "initialisation", "data-order", "dropout",
}  # fmt: skip
KINDS = {"rng", "order", "kernel", "memory", "numerics", "world", "provenance"}


def test_the_ids_are_exact():
    assert set(catalogue()) == IDS


@pytest.mark.parametrize("id_", sorted(IDS))
def test_every_source_is_found_by_one_name(id_):
    source = catalogue()[id_]
    assert type(source).__module__ == f"samerun.sources.{id_.replace('-', '_')}"
    page = (ROOT / "docs" / "explanations" / f"{id_}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {id_}\n")
    assert source.summary and source.advice
    assert source.kind in KINDS
    assert set(source.modes) <= set(MODES)
    assert source.controllable or not source.modes


def test_the_catalogue_imports_neither_torch_nor_numpy():
    code = (
        "import sys\nfrom samerun.sources.catalogue import catalogue\ncatalogue()\n"
        "print({'torch', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
