"""A notebook is diagnosed as a script is: the cell and line, and a patch of the cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from notebooks import write_notebook

from samerun.cli.main import main

CELLS = (
    ["import numpy as np\n", "import torch\n", "%precision 4\n"],
    ["%%time\n", "torch.manual_seed(0)\n", "data = torch.from_numpy(np.random.rand(64, 4)).float()"],
    [
        "model = torch.nn.Linear(4, 1)\n",
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
        "for batch in torch.utils.data.DataLoader(data, batch_size=16, shuffle=True):\n",
        "    optimizer.zero_grad()\n",
        "    model(batch).pow(2).mean().backward()\n",
        "    optimizer.step()",
    ],
)


@pytest.mark.slow
def test_the_cause_and_the_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.ipynb").write_text(write_notebook(*CELLS))
    before = Path("train.ipynb").read_bytes()
    assert main(["diagnose", "--json", "found.json", "--patch", "fix.patch", "--", "train.ipynb"]) == 1
    found = json.loads(Path("found.json").read_text())
    assert [cause["source"] for cause in found["causes"]] == ["numpy-global"]
    assert "train.ipynb[2]:3" in json.dumps(found["causes"][0])
    assert found["patch"]["verified"] is True
    assert '+    "np.random.seed(0)\\n"' in Path("fix.patch").read_text()
    assert Path("train.ipynb").read_bytes() == before
