"""The values in files that runs write; nothing in them is run, and there are limits."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from samerun.launching.written_files import databases, images, tables, values
from samerun.launching.written_files.values import holds_data, read_written
from samerun.runs.written import WrittenFile


def read_file(folder: Path, name: str, content: str | bytes, start: int = 0) -> WrittenFile:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_written(path, start)


def read(folder: Path, name: str, content: str | bytes, start: int = 0) -> dict[str, object]:
    return dict(read_file(folder, name, content, start).values)


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


def test_rows_that_were_added_to_a_table_are_named_as_in_a_new_one(tmp_path: Path) -> None:
    head = "epoch,test acc\n"
    new = read(tmp_path, "m.csv", head + "0,0.5\n1,0.25\n")
    added = head + "0,0.5\n1,0.25\n"
    assert read(tmp_path, "m.csv", head + "7,0.75\n0,0.5\n1,0.25\n", start=len(head) + 7) == new
    assert read(tmp_path, "m.csv", head + added, start=len(head)) == new  # with the names once more
    assert read(tmp_path, "m.csv", head + "0,0.5\n1,0.375\n", start=len(head)) != new
    assert read(tmp_path, "m.csv", head, start=len(head)) == {}


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_one_bit_of_an_array(tmp_path: Path, name: str) -> None:
    one = np.arange(6.0)
    found = []
    for array in (one, one.copy(), np.nextafter(one, 9)):
        path = tmp_path / name
        np.save(path, array) if name == "a.npy" else np.savez(path, x=array)
        found.append(dict(read_written(path).values))
    assert found[0] == found[1] != found[2]
    assert set(found[0]) == {"array" if name == "a.npy" else "x"}


def test_tensors_of_torch_save_and_of_safetensors(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for value in (1.0, 1.0, 1.5):
        torch.save({"w": torch.full((3,), value), "time": value}, tmp_path / "m.pt")
        found.append(dict(read_written(tmp_path / "m.pt").values))
    assert found[0] == found[1] != found[2]
    assert found[2]["time"] == 1.5 and found[0]["tensor 0"] != found[2]["tensor 0"]
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    tensors = [
        read(tmp_path, "m.safetensors", struct.pack("<Q", len(header)) + header + struct.pack("<f", value))
        for value in (1.0, 1.0, 2.0)
    ]
    assert tensors[0] == tensors[1] != tensors[2]
    assert set(tensors[0]) == {"w"}


class Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("it ran",)


def test_nothing_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.array([Runs()], dtype=object), allow_pickle=True)
    read_written(tmp_path / "a.npy")
    found = read_file(tmp_path, "m.pkl", pickle.dumps(Runs()))
    assert not found.values and found.digest is not None
    assert capsys.readouterr().out == ""


def test_plain_values_and_arrays_in_a_pickle(tmp_path: Path) -> None:
    found = [
        read(tmp_path, "m.pkl", pickle.dumps({"acc": value, "name": "a", "all": np.full(3, value)}))
        for value in (0.5, 0.5, 0.25)
    ]
    assert found[0] == found[1] != found[2]
    assert set(found[0]) == {"acc", "name", "array all"} and found[0]["acc"] == 0.5


def test_a_value_beside_its_name(tmp_path: Path) -> None:
    assert read(tmp_path, "m.json", '[{"name": "acc", "value": 0.5}]')["0.value of acc"] == 0.5
    assert read(tmp_path, "m.csv", "metric,value\nacc,0.5\n")["1.value of acc"] == 0.5


def test_a_text_without_a_form_is_kept_from_where_the_run_added_to_it(tmp_path: Path) -> None:
    assert read_file(tmp_path, "log.txt", "old\nloss 1\n", start=4).text == "loss 1\n"
    assert read_file(tmp_path, "m.json", '{"a": 1}\n{"a": 2}\n').text == '{"a": 1}\n{"a": 2}\n'
    assert "hf_abcdefgh12" not in (read_file(tmp_path, "log", "token hf_abcdefgh12").text or "")


def test_the_end_of_a_long_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samerun.launching.written_files.texts._MOST_PLAIN", 10)
    assert read_file(tmp_path, "log.txt", "first line\nlast 1\n").text == "last 1\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.json", b"\xff"),
        ("m.npz", b"PK"),
        ("m.safetensors", b"\0"),
        ("m.safetensors", struct.pack("<Q", 2) + b"[]"),
        ("a.bin", b"\0\1"),
        ("i.png", images.PNG + struct.pack(">I4s", 2, b"IDAT") + b"xx"),
        ("s.db", databases.MAGIC + b"no more"),
        ("t.parquet", tables.PARQUET + b"no more"),
        ("f.h5", tables.HDF5 + b"no more"),
        ("m.json.gz", b"\x1f\x8b no more"),
        ("m.zip", b"PK\3\4 no more"),
    ],
)
def test_of_what_is_not_read_there_is_a_digest(tmp_path: Path, name: str, content: str | bytes) -> None:
    found = read_file(tmp_path, name, content)
    assert found.digest is not None and not found.values and found.text is None


def test_values_beyond_the_limit_are_one_digest_for_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "_MOST_VALUES", 3)
    rows = [[{"acc": 1, "id": 2}, {"acc": 3, "id": last}, {"acc": 4, "id": 5}] for last in (7, 7, 8)]
    found = [read(tmp_path, "m.json", json.dumps(each)) for each in rows]
    assert found[0] == found[1] != found[2]
    assert set(found[0]) == {"0.acc", "0.id", "1.acc", "beyond.id", "beyond.acc"}
    assert found[0]["beyond.acc"] == found[2]["beyond.acc"]


def test_a_table_of_too_many_values_is_known_by_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "_MOST_READ", 3)
    array = np.arange(4.0)
    np.savez(tmp_path / "m.npz", *array[:3])
    assert len(read_written(tmp_path / "m.npz").values) == 3
    np.savez(tmp_path / "m.npz", *array)
    found = read_written(tmp_path / "m.npz")
    assert not found.values and found.digest is not None


def test_a_large_file_is_known_by_its_size_and_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "_LARGEST", 8)
    one, *others = (
        read_file(tmp_path, "m.npy", content).digest
        for content in (b"start\0\0\0end", b"stArt\0\0\0end", b"start\0\0\0eNd", b"start\0\0\0\0end")
    )
    assert one is not None and one not in others
    np.savez(tmp_path / "m.npz", x=np.zeros(9))
    assert "x" in read_written(tmp_path / "m.npz").values


def test_packed_files(tmp_path: Path) -> None:
    found = []
    for value, when in ((0.5, (2020, 1, 1, 0, 0, 0)), (0.5, (2021, 1, 1, 0, 0, 0)), (0.25, None)):
        text = json.dumps({"acc": value})
        assert read(tmp_path, "m.json.gz", gzip.compress(text.encode(), mtime=when and when[0])) == {
            "acc": value
        }
        with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
            archive.writestr(zipfile.ZipInfo("out/m.json", when or (2022, 1, 1, 0, 0, 0)), text)
        found.append(read_written(tmp_path / "m.zip"))
    assert found[0] == found[1] != found[2]
    assert found[0].values == {"out/m.json.acc": 0.5} and found[0].digest is not None


def test_a_table_of_parquet_by_its_columns(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    found = []
    for value in (0.5, 0.5, 0.25):
        parquet.write_table(arrow.table({"score": [0.1, value], "name": ["a", "b"]}), tmp_path / "t.parquet")
        found.append(dict(read_written(tmp_path / "t.parquet").values))
    assert found[0] == found[1] != found[2]
    assert set(found[0]) == {"array score", "name"} and found[0]["name"] == found[2]["name"]


def test_an_hdf5_file_by_its_datasets_and_attributes(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    found = []
    for value in (0.5, 0.5, 0.25):
        with h5py.File(tmp_path / "f.h5", "w") as file:
            file["scores"] = np.array([0.1, value])
            file.attrs["acc"] = value
        found.append(dict(read_written(tmp_path / "f.h5").values))
    assert found[0] == found[1] != found[2]
    assert set(found[0]) == {"array scores", "acc"} and found[0]["acc"] == 0.5


@pytest.mark.parametrize(
    ("name", "is_data"),
    [
        ("a/m.CSV", True),
        ("events.out.tfevents.17.host", True),
        ("m.zip", True),
        ("log.txt", False),
        ("x", False),
    ],
)
def test_which_names_are_of_data(name: str, is_data: bool) -> None:
    assert holds_data(Path(name)) is is_data
