"""A folder with four recorded runs and a diagnosis, to be damaged by each test in its own copy."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from report.diagnoses import a_case

from samerun.experiments.diagnose.storage import save
from samerun.runs.store import Run

from .calling import SECRET


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "base"
    case = a_case(folder)
    shutil.copytree(case.runs[0].path, folder / "runs" / "equal")
    save(case.diagnosis, case.runs[0])
    return folder


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    """`runs/run1` and `run2` differ at tier steps, `run3` and `run4` at tier ops; run1 has a diagnosis.

    `equal` has the bits of run1.
    """
    copy = tmp_path / "work"
    shutil.copytree(base, copy)
    for path in (copy / "runs").iterdir():
        replace(Run(path).manifest, cwd=str(copy)).write(path)
    (tmp_path / "secret.txt").write_text(f"{SECRET}\n" * 9)
    (tmp_path / "secret.py").write_text(f"password = '{SECRET}'\n" * 9)
    return copy
