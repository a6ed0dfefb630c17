from __future__ import annotations

from pathlib import Path

import pytest
from sources.mending import Program

from samerun.explaining.cause import Cause
from samerun.explaining.framework_seed import advise_in_framework
from samerun.sources.catalogue import find_sources


def advise(folder: Path, text: str, source: str = "torch-cpu", advice: str | None = None) -> str:
    general = find_sources()[source].advice if advice is None else advice
    cause = Cause(source, True, general, "")
    (said,) = advise_in_framework(Program(folder, text).difference(), [cause], folder)
    assert said.source == source and said.confirmed
    return said.advice


@pytest.mark.parametrize(
    "text, line",
    [
        ("import lightning as L\n", "L.seed_everything(0, workers=True)"),
        ("import lightning.pytorch as pl\n", "pl.seed_everything(0, workers=True)"),
        (
            "from lightning.pytorch import Trainer\n",
            "from lightning import seed_everything; seed_everything(0, workers=True)",
        ),
        (
            "import pytorch_lightning as pl\nimport transformers\n",
            "pl.seed_everything(0, workers=True)",
        ),
        ("from accelerate import Accelerator\n", "from accelerate.utils import set_seed; set_seed(0)"),
        ("from ignite.engine import Engine\n", "from ignite.utils import manual_seed; manual_seed(0)"),
    ],
)
def test_the_framework_comes_first_and_the_general_form_stays(tmp_path: Path, text: str, line: str) -> None:
    general = find_sources()["torch-cpu"].advice
    assert advise(tmp_path, text + "import torch\nx = torch.rand(3)\n") == f"{line}\nor: {general}"


def test_arguments_that_seed_later_are_told_apart(tmp_path: Path) -> None:
    said = advise(tmp_path, "from transformers import Trainer\n", "python-random")
    assert said.startswith("from transformers import set_seed; set_seed(0)  # before the model is made")
    assert "TrainingArguments(seed=0)" in said
    runner = "from mmengine.runner import Runner\n"
    assert "randomness=dict(seed=0)" in advise(tmp_path, runner)
    seeded = advise(tmp_path, f"{runner}Runner(model=Net(), randomness=dict(seed=6))\n")
    assert seeded == find_sources()["torch-cpu"].advice  # Net() is made before the Runner seeds


def test_other_advice_stays_as_it_is(tmp_path: Path) -> None:
    text = "import lightning as L\n"
    assert advise(tmp_path, "import torch\n") == find_sources()["torch-cpu"].advice
    assert advise(tmp_path, text, advice="give it a seed") == "give it a seed"
    assert advise(tmp_path, text, "listing-order") == find_sources()["listing-order"].advice
