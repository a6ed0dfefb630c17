"""What sources say of themselves, as text."""

from __future__ import annotations

import io

from rich.console import Console

from samerun.experiments.describe_sources import SourceDescription
from samerun.report.text.environment import show


def test_one_block_for_each_source() -> None:
    file = io.StringIO()
    described = [
        SourceDescription("tf32", "setting", "Short floats", True, {"matmul": False, "mode": "high\x1b"}),
        SourceDescription("torch-cuda", "rng", "GPUs", False),
        SourceDescription("clock", "world", "Time", True, error="OSError: gone"),
    ]
    show(described, Console(file=file, width=80))
    assert file.getvalue() == (
        "tf32  Short floats\n    matmul: false\n    mode: high?\n"
        "torch-cuda  GPUs\n    not in use here\n"
        "clock  Time\n    could not be described: OSError: gone\n"
    )
