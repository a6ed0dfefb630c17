"""What the documentation shows is what mypy --strict takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
from collections.abc import Mapping
from typing import Any

import torch

from samerun.testing import assert_resumes_everywhere


class AsProperty:
    def __init__(self) -> None:
        self.model = torch.nn.Linear(1, 1)

    @property
    def objects(self) -> Mapping[str, Any]:
        return {"model": self.model}

    def step(self) -> float:
        return 0.0


class AsAttribute:
    def __init__(self) -> None:
        self.objects = {"model": torch.nn.Linear(1, 1)}

    def step(self) -> None: ...


class Without:
    def step(self) -> None: ...


assert_resumes_everywhere(AsProperty)
assert_resumes_everywhere(AsAttribute)
assert_resumes_everywhere(Without)
"""


@pytest.mark.slow
def test_a_training_may_have_its_objects_as_a_property_or_an_attribute(tmp_path: Path) -> None:
    script = tmp_path / "training.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=220,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1 and '"type[Without]"' in errors[0], done.stdout
