from __future__ import annotations

import json
from pathlib import Path

import pytest
import torches

from samerun.experiments.resume.audit import audit_files


def test_what_a_checkpoint_has_and_lacks_is_said(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 1)
    torch.save({"model": model.state_dict(), "step": 3}, tmp_path / "last.pt")
    (tmp_path / "notes.txt").write_text("no checkpoint")
    (tmp_path / "config.json").write_text(json.dumps({"data_loader": {"state": 1}, "loader": {"batch": 2}}))
    names = ("gone.pt", "notes.txt", "config.json", "last.pt")
    (line,) = audit_files(tmp_path, list(map(Path, names)))
    assert line.startswith("audit of last.pt: it has model")
    assert "lacks optimizer" in line


def test_what_a_file_beside_it_has_is_not_lacking(tmp_path: Path) -> None:
    """As skorch writes its checkpoints: a file for each part."""
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(2, 1)
    (tmp_path / "ck").mkdir()
    torch.save(model.state_dict(), tmp_path / "ck" / "params.pt")
    torch.save(torch.optim.Adam(model.parameters()).state_dict(), tmp_path / "ck" / "optimizer.pt")
    torch.save({}, tmp_path / "ck" / "criterion.pt")
    torch.save({"model": model.state_dict()}, tmp_path / "other.pt")
    names = ("ck/params.pt", "ck/optimizer.pt", "ck/criterion.pt", "other.pt")
    params, optimizer, other = audit_files(tmp_path, list(map(Path, names)))
    assert "it has model" in params and "optimizer" not in params
    assert "it has optimizer" in optimizer and "model" not in optimizer
    assert "lacks optimizer" in other


def test_without_a_checkpoint_nothing_is_said(tmp_path: Path) -> None:
    assert audit_files(tmp_path / "gone", [Path("last.pt")]) == []


def test_without_torch_the_audit_is_left_out_and_that_is_said(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "last.pt").write_text("a checkpoint")
    monkeypatch.setenv("PYTHONPATH", torches.missing(tmp_path))
    (line,) = audit_files(tmp_path, [Path("last.pt")])
    assert line.startswith("audit of checkpoints: left out, since samerun.state needs torch 2.6 or newer: ")


def test_a_folder_of_a_framework_is_audited_as_a_whole(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    folder = tmp_path / "out" / "checkpoint-9"
    folder.mkdir(parents=True)
    for name in ("config.json", "trainer_state.json", "training_args.json"):
        (folder / name).write_text(json.dumps({"global_step": 9, "hidden_size": 2}))
    optimizer = torch.optim.Adam(torch.nn.Linear(2, 1).parameters())
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
    (folder / "model.safetensors").write_bytes(b"")
    torch.save({"model": {}, "step": 3}, tmp_path / "mine.pt")
    names = ["config.json", "trainer_state.json", "optimizer.pt", "training_args.json"]
    read = [Path("out/checkpoint-9") / name for name in names]
    first, second = audit_files(tmp_path, [*read, Path("mine.pt")])
    assert first.startswith("audit of out/checkpoint-9: it has model, optimizer")
    assert second.startswith("audit of mine.pt: ")
