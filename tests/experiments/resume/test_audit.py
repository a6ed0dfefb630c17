from __future__ import annotations

from pathlib import Path

import pytest
import torches

from samerun.experiments.resume.audit import audit_files


def test_what_a_checkpoint_has_and_lacks_is_said(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 1)
    torch.save({"model": model.state_dict(), "step": 3}, tmp_path / "last.pt")
    (tmp_path / "notes.txt").write_text("no checkpoint")
    (line,) = audit_files(tmp_path, [Path("gone.pt"), Path("notes.txt"), Path("last.pt")])
    assert line.startswith("audit of last.pt: it has model")
    assert "lacks optimizer" in line


def test_without_a_checkpoint_nothing_is_said(tmp_path: Path) -> None:
    assert audit_files(tmp_path / "gone", [Path("last.pt")]) == []


def test_without_torch_the_audit_is_left_out_and_that_is_said(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "last.pt").write_text("a checkpoint")
    monkeypatch.setenv("PYTHONPATH", torches.missing(tmp_path))
    (line,) = audit_files(tmp_path, [Path("last.pt")])
    assert line.startswith("audit of checkpoints: left out, since samerun.state needs torch 2.6 or newer: ")
