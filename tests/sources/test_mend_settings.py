"""The edits that set a flag, fill memory or warm up; and the sources that no edit mends.

Covers `edits/flags.py`, `edits/loops.py` and `edits/unwritten_memory.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.sources.catalogue import find_sources

from .differences import origin
from .mending import Program, equal

FILL = "+torch.utils.deterministic.fill_uninitialized_memory = False"  # torch would fill new memory with NaN
FLAGS = {
    ("nondeterministic-kernels", ""): f"+torch.use_deterministic_algorithms(True)\n{FILL}",
    ("nondeterministic-kernels", "torch.use_deterministic_algorithms(False)"): (
        f"-torch.use_deterministic_algorithms(False)\n{FILL}\n+torch.use_deterministic_algorithms(True)"
    ),
    ("nondeterministic-kernels", "torch.use_deterministic_algorithms(True, warn_only=True)"): (
        f"-torch.use_deterministic_algorithms(True, warn_only=True)\n{FILL}\n"
        "+torch.use_deterministic_algorithms(True)"
    ),
    ("cudnn-benchmark", ""): "+torch.backends.cudnn.benchmark = False",
    ("cudnn-benchmark", "torch.backends.cudnn.benchmark = True"): (
        "-torch.backends.cudnn.benchmark = True\n+torch.backends.cudnn.benchmark = False"
    ),
    ("cudnn-nondeterministic", "cudnn.deterministic = False"): (
        "-cudnn.deterministic = False\n+cudnn.deterministic = True"
    ),
    (
        "mkl-first-call",
        "",
    ): "+torch.ones(64).exp().sqrt().log().tanh()  # the first calls, which may be inexact",
    ("threads", "torch.set_num_threads(8)"): "-torch.set_num_threads(8)\n+torch.set_num_threads(2)",
    ("threads", ""): "+torch.set_num_threads(2)",
    ("tf32", ""): '+torch.set_float32_matmul_precision("highest")',
}


@pytest.mark.parametrize(("source", "line"), FLAGS)
def test_flags(tmp_path: Path, source: str, line: str) -> None:
    """Where the script sets them, else after its imports."""
    script = f"import torch\nfrom torch.backends import cudnn\n\n{line}\ntorch.rand(2)\n"
    program = Program(tmp_path, script)
    change = program.mended(source, settings={"threads": {"intra": 2}})
    assert change == FLAGS[source, line].replace(
        "+torch.backends.cudnn.b", "+cudnn.b" if not line else "+torch.backends.cudnn.b"
    )


def test_what_the_script_says_of_the_memory_fill_stays(tmp_path: Path) -> None:
    own = "torch.utils.deterministic.fill_uninitialized_memory = True"
    program = Program(tmp_path, f"import torch\n\n{own}\ntorch.rand(2)\n")
    assert program.mended("nondeterministic-kernels") == "+torch.use_deterministic_algorithms(True)"


def test_cuda_needs_the_workspace_too(tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\n\ntorch.rand(2)\n")
    change = program.mended("nondeterministic-kernels", settings={"torch-cuda": {"initial_seeds": [0]}})
    assert change == (
        '+import os\n+os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"\n'
        f"+torch.use_deterministic_algorithms(True)\n{FILL}"
    )


def test_an_operation_without_a_deterministic_form(tmp_path: Path) -> None:
    program = Program(tmp_path, "import torch\ntorch.use_deterministic_algorithms(True)\n")
    settings = {"nondeterministic-kernels": {"deterministic": True, "warn_only": False}}
    said = program.refused("nondeterministic-kernels", settings=settings, origin=origin("aten.put_"))
    assert "aten.put_ has none" in said


def test_least_squares_get_another_driver(tmp_path: Path) -> None:
    """Its default one reads memory that nothing has written: no flag fixes that and keeps its results."""
    program = Program(tmp_path, "import torch\nx = torch.linalg.lstsq(a, b).solution\n")
    at = {"site": "train.py:2", "origin": origin("aten.linalg_lstsq.default", call_site="train.py:2")}
    assert program.mended("nondeterministic-kernels", **at) == (
        "-x = torch.linalg.lstsq(a, b).solution\n"
        '+x = torch.linalg.lstsq(a, b, driver=None if a.is_cuda else "gelsd").solution'
    )
    for solve in ("solve(torch.linalg.lstsq)", "torch.linalg.lstsq(make(), b)"):
        program = Program(tmp_path, f"import torch\nx = {solve}\n")
        assert 'driver="gelsd") on the CPU' in program.refused("nondeterministic-kernels", **at)


MEMORY = {
    "x = torch.empty(3)\ny = x + 1": "x = torch.zeros(3)\ny = x + 1",
    "x = torch.empty(3, memory_format=torch.contiguous_format)\ny = x + 1": (
        "x = torch.empty(3, memory_format=torch.contiguous_format).zero_()\ny = x + 1"
    ),
    "x = torch.LongTensor(3)\ny = x + 1": "x = torch.LongTensor(3).zero_()\ny = x + 1",
    "x = z.new_empty(3)\ny = x + 1": "x = z.new_zeros(3)\ny = x + 1",
    "x = torch.empty_like(z)\ny = x + 1": "x = torch.zeros_like(z)\ny = x + 1",
    "x = torch.FloatTensor(3, 2)\ny = x + 1": "x = torch.zeros(3, 2)\ny = x + 1",
    "x = np.empty((3, 2))\ny = torch.from_numpy(x) + 1": "x = np.zeros((3, 2))\ny = torch.from_numpy(x) + 1",
    "y = torch.empty(3) + 1": "y = torch.zeros(3) + 1",
    "x = torch.empty(3)\ny = x.clamp_(0, 1)": "x = torch.zeros(3)\ny = x.clamp_(0, 1)",
    "y = torch.empty(3).abs_() + 1": "y = torch.zeros(3).abs_() + 1",
    "x = torch.empty(3)\nw = torch.empty(3)\ny = x + 1": "x = torch.zeros(3)\nw = torch.empty(3)\ny = x + 1",
}


@pytest.mark.parametrize("old", MEMORY)
def test_memory_is_zeroed_where_it_is_made(tmp_path: Path, old: str) -> None:
    program = Program(tmp_path, f"import torch\nimport numpy as np\nz = torch.ones(2)\n{old}\n")
    text = program.patch("uninitialized-memory", site=program.at("y = ")).files["train.py"]
    assert text.split("\n", 3)[3] == f"{MEMORY[old]}\n"


def test_memory_of_a_module_read_in_its_forward(tmp_path: Path) -> None:
    program = Program(
        tmp_path,
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(3))
                self.bias = nn.Parameter(torch.empty(3))
                nn.init.normal_(self.weight)

            def forward(self, x):
                return x * self.weight + self.bias
        """,
    )
    assert program.mended("uninitialized-memory", site=program.at("return x")) == (
        "-        self.bias = nn.Parameter(torch.empty(3))\n+        self.bias = nn.Parameter(torch.zeros(3))"
    )


NEVER = ["input-data", "resume-state", "code", "packages", "hardware", "environment", "arguments"]


@pytest.mark.parametrize("source", NEVER)
def test_what_no_edit_mends_says_what_does(tmp_path: Path, source: str) -> None:
    assert Program(tmp_path, "import torch\n").refused(source) == find_sources()[source].advice


LOOPS = {
    "step = 0\nwhile time.time() - start < 5:\n    step += 1": "step = 0\nwhile step < 30:\n    step += 1",
    "n, s = 1, 0\nwhile (time.time() < end):\n    s += 1": "n, s = 1, 0\nwhile (s < 30):\n    s += 1",
    "n = 0\nfor e in range(9):\n    k = 0\n    while time.time() < end:\n        n += 1\n        k += 1": (
        "n = 0\nfor e in range(9):\n    k = 0\n    while k < 30:\n        n += 1\n        k += 1"
    ),
    "while time.time() < end:\n    train()": "for _ in range(30):\n    train()",
    "while (time.time() - start) < 5 :\n    train()": "for _ in range(30):\n    train()",
    "now = time.time\nwhile now() < end:\n    train()": "now = time.time\nfor _ in range(30):\n    train()",
}


@pytest.mark.parametrize("old", LOOPS)
def test_a_loop_that_ends_by_the_clock_gets_as_many_steps_as_it_made(tmp_path: Path, old: str) -> None:
    start = "import time\nstart = time.time()\nend = start + 5\ndef train(): pass\n"
    program = Program(tmp_path, f"{start}{old}\n", steps=30)
    row = equal("clock", "time.time", program.at("while"))
    text = program.patch("clock", row, site=program.at("while")).files["train.py"]
    assert text == f"{start}{LOOPS[old]}\n"


def test_a_loop_with_a_time_limit(tmp_path: Path) -> None:
    program = Program(
        tmp_path, "import time\nend = time.time() + 5\nwhile True:\n    if time.time() > end: break\n"
    )
    rows = [equal("clock", "time.time", "train.py:2"), equal("clock", "time.time", "train.py:4")]
    said = program.refused("clock", *rows, site="train.py:4", kind="flow")
    assert "number of steps" in said and "train.py:4" in said


def test_every_source_says_something_when_it_has_no_edit(tmp_path: Path) -> None:
    program = Program(tmp_path, "print(3)\n")
    for source in find_sources():
        made = program.patch(source)
        assert made.diff or made.cannot[source]
