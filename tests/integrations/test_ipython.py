"""`%load_ext samerun` in IPython's own shell; `%%samerun` in kernels of its own."""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from samerun import layers
from samerun.integrations.ipython import list_cells

InteractiveShell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
Config = pytest.importorskip("traitlets.config").Config


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_cell("%load_ext samerun", store_history=True)
    yield shell
    shell.atexit_operations()
    atexit.unregister(shell.atexit_operations)
    layers.take_back()  # what %samerun seed controls in this process


def test_the_generators_of_a_kernel_are_seeded(shell: Any) -> None:
    def draw() -> Any:
        shell.run_cell("import torch, random\nx = (random.random(), torch.rand(2).tolist())")
        return shell.user_ns["x"]

    drawn = []
    for seed in (42, 42, 43):
        shell.run_cell(f"%samerun seed {seed}")
        drawn.append(draw())
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%samerun", "%samerun seed 42 "),
        ("%samerun sed 4", "'sed 4' is not known here"),
        ("%samerun seed x", "'x' is not a seed"),
        ("%samerun seed '", "No closing quotation"),
        ("%samerun report", "no run"),
    ],
)
def test_mistakes_are_told(shell: Any, capsys: pytest.CaptureFixture[str], line: str, said: str) -> None:
    result = shell.run_cell(line)
    assert result.error_in_exec is None
    assert said.lower() in capsys.readouterr().out.lower()


def test_cells_keep_their_counts() -> None:
    inputs = [
        "",
        "import torch",
        "%load_ext samerun\n%samerun seed 42\n",
        "%%samerun\nx = 1",
        " ",
        "%%time\ny = 2",
    ]
    running = "%%samerun -n 3\nz = 3"
    assert list_cells([*inputs, running], "z = 3") == [
        "import torch",
        "pass",
        "pass",
        "pass",
        "%%time\ny = 2",
        "# %%samerun -n 3\nz = 3",
    ]


@pytest.mark.slow
def test_a_cell_is_compared_in_fresh_kernels(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for cell in (
        "import torch, random\nscale = 0.5",
        "model = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)",
    ):
        shell.run_cell(cell, store_history=True)
    step = "model(torch.ones(4, 2) * {}).sum().backward()\noptimizer.step()"
    shell.run_cell(f"%%samerun\n{step.format('scale * random.random()')}", store_history=True)
    said = capsys.readouterr().out
    assert "✗ differs" in said and "cells.ipynb[3]:1" in said
    shell.run_cell(f"%%samerun --controlled\n{step.format('scale')}", store_history=True)
    assert "✓ same — 2 runs, 1 step" in capsys.readouterr().out
    cells = json.loads(Path(".samerun/cells.ipynb").read_text())["cells"]
    assert [cell["source"].splitlines()[0] for cell in cells[3:]] == [
        "pass",
        "# %%samerun --controlled",
    ]
