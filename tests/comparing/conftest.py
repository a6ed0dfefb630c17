from __future__ import annotations

from pathlib import Path

import pytest

from .build import Builder


@pytest.fixture
def build(tmp_path: Path) -> Builder:
    return Builder(tmp_path)
