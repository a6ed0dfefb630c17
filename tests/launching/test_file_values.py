"""The values in files that runs write; nothing in them is run, and there are limits."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from samerun.launching import file_values
from samerun.launching.file_values import digest_whole, read_values


def read(folder: Path, name: str, content: str | bytes, start: int = 0) -> dict[str, object] | None:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    values = read_values(path, start)
    return None if values is None else dict(values)


def test_json_by_name(tmp_path: Path) -> None:
    text = json.dumps({"test": {"acc": 0.5, "folds": [1, 2]}, "ok": True, "none": None, "bad": float("nan")})
    found = read(tmp_path, "m.json", text)
    assert found == {
        "test.acc": 0.5,
        "test.folds.0": 1,
        "test.folds.1": 2,
        "ok": True,
        "none": None,
        "bad": "nan",
    }


def test_texts_are_known_by_digest_and_times_paths_and_ids_are_no_part_of_them(tmp_path: Path) -> None:
    def text(value: str) -> object:
        found = read(tmp_path, "m.json", json.dumps([value]))
        assert found is not None
        return found["0"]

    assert text("token") not in ("token", text("other"))
    assert text("at 2026-11-24 10:00:00 in /tmp/a1/x") == text("at 2026-11-25 11:30:10 in /tmp/b2/y")


def test_lines_of_json(tmp_path: Path) -> None:
    assert read(tmp_path, "m.jsonl", '{"loss": 1}\n\n{"loss": 2.5}\n') == {"0.loss": 1, "2.loss": 2.5}


def test_tables_with_and_without_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, "m.csv", "epoch,loss\n0,0.5\n") == {"1.epoch": 0.0, "1.loss": 0.5}
    assert read(tmp_path, "m.tsv", "0\t0.5\n") == {"0.0": 0.0, "0.1": 0.5}


def test_what_was_added_alone(tmp_path: Path) -> None:
    assert read(tmp_path, "m.csv", "0,0.5\n1,0.25\n", start=6) == {"0.0": 1.0, "0.1": 0.25}


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_one_bit_of_an_array(tmp_path: Path, name: str) -> None:
    one = np.arange(6.0)
    found = []
    for array in (one, one.copy(), np.nextafter(one, 9)):
        path = tmp_path / name
        np.save(path, array) if name == "a.npy" else np.savez(path, x=array)
        found.append(read_values(path))
    assert found[0] == found[1] != found[2]
    assert set(found[0] or {}) == {"array" if name == "a.npy" else "x"}


def test_tensors_of_torch_save_and_of_safetensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for value in (1.0, 1.0, 1.5):
        torch.save({"w": torch.full((3,), value), "time": value}, tmp_path / "m.pt")
        found.append(read_values(tmp_path / "m.pt"))
    assert found[0] == found[1] != found[2]
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    tensors = [
        read(tmp_path, "m.safetensors", struct.pack("<Q", len(header)) + header + struct.pack("<f", value))
        for value in (1.0, 1.0, 2.0)
    ]
    assert tensors[0] == tensors[1] != tensors[2]
    assert set(tensors[0] or {}) == {"w"}


class Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("it ran",)


def test_nothing_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([Runs()], dtype=object), allow_pickle=True)
    read_values(path)
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(Runs()))
    assert read_values(tmp_path / "m.pkl") is None
    assert digest_whole(tmp_path / "m.pkl") is not None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.json", "{"),
        ("m.json", b"\xff"),
        ("m.json", "[" * 500),
        ("m.npz", b"PK"),
        ("m.safetensors", b"\0"),
        ("m.safetensors", struct.pack("<Q", 2) + b"[]"),
    ],
)
def test_what_is_not_whole_raises(tmp_path: Path, name: str, content: str | bytes) -> None:
    with pytest.raises(ValueError):
        read(tmp_path, name, content)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_values, "_MOST_VALUES", 3)
    with pytest.raises(file_values.TooMany):
        read(tmp_path, "m.json", "[1, 2, 3, 4]")
    monkeypatch.setattr(file_values, "_MOST_TEXT", 3)
    with pytest.raises(OSError, match="at most 3"):
        read(tmp_path, "m.json", "[1, 2]")


def test_what_is_not_read_by_value(tmp_path: Path) -> None:
    assert read(tmp_path, "log.txt", "loss 1") is None
    assert digest_whole(tmp_path / "log.txt") is None
