"""The code that a lock holds: a step that prepares the data and a shell script, too."""

from __future__ import annotations

import sys
from pathlib import Path

from trainer import Trainer

from samerun.comparing.pairing import read
from samerun.experiments.lock.code_files import list_code_files

TRAINS = """
import torch
model = torch.nn.Linear(1, 1)
x = torch.tensor([[float(open("data.txt").read())]])
model(x).sum().backward()
torch.optim.SGD(model.parameters(), lr=0.1).step()
"""


def test_what_runs_beside_the_training_is_code(tmp_path: Path) -> None:
    trainer = Trainer(tmp_path)
    trainer.script("import random\nopen('data.txt', 'w').write(str(random.random()))\n", "prepare.py")
    trainer.script(TRAINS)
    trainer.script(f"{sys.executable} prepare.py\n{sys.executable} train.py\n", "run.sh")
    run = trainer.record("bash", "run.sh")
    before = list_code_files(read(run))
    assert before.keys() == {"prepare.py", "run.sh", "train.py"}
    trainer.script("import random\nopen('data.txt', 'w').write(str(1 + random.random()))\n", "prepare.py")
    after = list_code_files(read(run))
    assert {path for path in before if before[path] != after[path]} == {"prepare.py"}
