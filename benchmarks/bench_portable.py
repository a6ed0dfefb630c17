"""What mode portable removes and what it costs, on the examples: python benchmarks/bench_portable.py.

Each example runs as on this machine, and as on simulated ones: libraries held to older instructions, another
number of threads. Under each mode, a simulated machine counts as the same when every record is, bit for bit.
"""

import sys
import tempfile
from pathlib import Path

from samerun.comparing.compare_runs import compare
from samerun.experiments.cost.configurations import Setup
from samerun.experiments.cost.cost import Rounds, cost
from samerun.experiments.request import Request
from samerun.launching.launch import LaunchRequest
from samerun.launching.run import record
from samerun.launching.workspace import Workspace
from samerun.runs.plan import Control, Plan
from samerun.runs.store import Store

EXAMPLES = Path(__file__).parent.parent / "examples"
COMMANDS = (
    ("digits_cnn.py", "--workers", "0", "--epochs", "1"),
    ("tiny_gpt.py", "--steps", "20"),
    ("scatter_gnn.py", "--steps", "10", "--threads", "1"),
)
MACHINES = {
    "ATen AVX2": {"ATEN_CPU_CAPABILITY": "avx2"},
    "ATen plain": {"ATEN_CPU_CAPABILITY": "default"},
    "oneDNN SSE4.1": {"ONEDNN_MAX_CPU_ISA": "SSE41"},
    "MKL AVX2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "1 thread": {"OMP_NUM_THREADS": "1"},
    "4 threads": {"OMP_NUM_THREADS": "4"},
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for name, *words in COMMANDS:
            command = (sys.executable, str(EXAMPLES / name), *words)
            print(name)
            for mode in ("strict", "portable"):
                said = [f"{machine}: {same(command, store, mode, env)}" for machine, env in MACHINES.items()]
                print(f"  {mode:<9}", ", ".join(said), flush=True)
            price(command, store)


def same(command, store, mode, env):
    """The verdict on this machine and a simulated one; portable sets its variables over those of `env`."""
    runs = [
        record(LaunchRequest(command, variables), Plan(control=Control(mode)), Workspace(EXAMPLES, store))
        for variables in ({}, env)
    ]
    return compare(*runs).verdict


def price(command, store):
    ways = [Setup(mode, mode, Control(mode)) for mode in ("strict", "portable")]
    found = cost(Request(command, EXAMPLES, store), Rounds(3, search=False), ways=ways)
    for each in found.prices:
        if each.steps is not None:
            print(
                f"  {each.name} costs ×{each.steps.ratio:.2f} ({each.steps.low:.2f} to {each.steps.high:.2f})"
            )


if __name__ == "__main__":
    main()
