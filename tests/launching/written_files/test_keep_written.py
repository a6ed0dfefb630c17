"""What a run wrote is kept by value, with the line that opened the file."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from comparing.build import Builder, Record, record, training

from samerun.launching.written_files import keep_written as keeping
from samerun.launching.written_files.keep_written import keep_written
from samerun.runs.written import FILE, WrittenFile, load_written


def opened(path: str, before: float | None = None) -> Record:
    return record(0, "end", "written", "open", detail=path, value=before, call_site="train.py:9", digest=None)


def kept(folder: Path, *rows: Record, root: Path | None = None) -> dict[str, WrittenFile]:
    runs, work = folder / "runs", folder / "work"
    runs.mkdir()
    work.mkdir(exist_ok=True)
    run = Builder(runs)([*training()[:-1], *rows, training()[-1]], settings={"code": {"train.py": ""}})
    keep_written(run, work, root, 1000.0)
    return load_written(run.path)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "out").mkdir(parents=True)
    return folder


def test_what_an_absolute_path_leads_to_is_read_where_it_is_and_not_in_the_copy(
    tmp_path: Path, work: Path
) -> None:
    """The copy has it as it was before the run: two runs would be equal in that."""
    real = tmp_path / "real" / "m.json"
    copied = tmp_path / "root" / str(real).lstrip("/")
    for path, acc in (real, 0.25), (copied, 0.5):
        path.parent.mkdir(parents=True)
        path.write_text(f'{{"acc": {acc}}}')
    os.utime(copied, (10, 10))
    found = kept(tmp_path, opened(str(real)), root=tmp_path / "root")
    assert found[str(real)].values == {"acc": 0.25}
    os.utime(copied)  # written in the copy, as `../real/m.json`
    shutil.rmtree(tmp_path / "runs")
    found = kept(tmp_path, opened(str(real)), root=tmp_path / "root")
    assert found[str(real)].values == {"acc": 0.5}


def test_files_that_were_opened_with_their_line(tmp_path: Path, work: Path) -> None:
    (work / "out/m.json").write_text('{"acc": 0.5}')
    (work / "log.txt").write_text("loss 1")
    (work / "m.pkl").write_bytes(b"pickle")
    found = kept(tmp_path, opened("out/m.json"), opened("log.txt"), opened("gone.json"), opened("m.pkl"))
    assert found["out/m.json"] == WrittenFile("train.py:9", {"acc": 0.5})
    assert set(found) == {"out/m.json", "log.txt", "m.pkl"}
    assert found["m.pkl"].digest is not None and found["log.txt"].text == "loss 1"
    assert (tmp_path / "runs/run1" / FILE).stat().st_mode & 0o777 == 0o600


def test_what_a_run_added_alone(tmp_path: Path, work: Path) -> None:
    (work / "log.csv").write_text("0,0.5\n1,0.25\n")
    assert kept(tmp_path, opened("log.csv", 6.0))["log.csv"].values == {"0.0": 1.0, "0.1": 0.25}


def test_what_all_processes_added(tmp_path: Path, work: Path) -> None:
    (work / "log.txt").write_text("old\nloss 1\nloss 2\n")
    assert (
        kept(tmp_path, opened("log.txt", 4.0), opened("log.txt", 11.0))["log.txt"].text == "loss 1\nloss 2\n"
    )


def test_files_that_were_renamed_are_found_and_old_ones_are_not(tmp_path: Path, work: Path) -> None:
    for name, time in (("out/new.json", 2000), ("out/old.json", 500), ("m.json", 2000)):
        (work / name).write_text("[1]")
        os.utime(work / name, (time, time))
    assert kept(tmp_path, opened("out/m.tmp")) == {
        name: WrittenFile(None, {"0": 1}) for name in ("m.json", "out/new.json")
    }


def test_data_that_native_code_wrote_is_found_in_any_folder_and_texts_of_others_are_not(
    tmp_path: Path, work: Path
) -> None:
    (work / "a/b").mkdir(parents=True)
    (work / "a/.hidden").mkdir()
    (work / "env").mkdir()
    (work / "env/pyvenv.cfg").touch()
    for name in ("a/b/w.npy", "a/b/m.json", "a/b/p.csv", "a/b/log.txt", "a/.hidden/w.npy", "env/w.npy"):
        (work / name).write_bytes(b"0.5")
    (work / "train.py").write_text('frame.write_csv("a/b/p.csv")')
    assert set(kept(tmp_path)) == {"a/b/w.npy", "a/b/p.csv"}


def test_a_text_that_a_shell_names_is_found(tmp_path: Path, work: Path) -> None:
    """As by `| tee eval.log`, which opens the file where nobody sees it."""
    (tmp_path / "runs").mkdir()
    for name in ("eval.log", "beside.log", "job.txt", "out/rows.csv"):
        (work / name).write_text("1,0.5\n")
    (work / "go.sh").write_text("python train.py\npython eval.py | tee eval.log > out/rows.csv\n")
    run = Builder(tmp_path / "runs")(training(), settings={})
    manifest = replace(run.manifest, command=("bash", "go.sh", "job.txt"))
    manifest.write(run.path)
    del run.__dict__["manifest"]
    keep_written(run, work, None, 1000.0)
    assert set(load_written(run.path)) == {"eval.log", "job.txt", "out/rows.csv"}


def test_a_table_that_was_moved_is_known_by_its_name(tmp_path: Path, work: Path) -> None:
    (work / "a").mkdir()
    (work / "a/m.json").write_text("[1]")
    assert set(kept(tmp_path, opened("/tmp/gone/m.json"))) == {"a/m.json"}


def test_links_are_not_followed_and_what_is_damaged_is_a_text(tmp_path: Path, work: Path) -> None:
    (tmp_path / "secret.json").write_text("[1]")
    (work / "link.json").symlink_to(tmp_path / "secret.json")
    (work / "bad.json").write_text("{")
    os.mkfifo(work / "pipe.json")
    found = kept(tmp_path, opened("link.json"), opened("bad.json"), opened("pipe.json"))
    assert set(found) == {"bad.json"} and found["bad.json"].text == "{"


def test_files_with_an_absolute_path_are_those_of_the_copy(tmp_path: Path, work: Path) -> None:
    target = tmp_path / "elsewhere" / "m.json"
    copy = Path(f"{tmp_path}/root{target}")
    for path, text in ((target, "[1]"), (copy, "[2]")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    found = kept(tmp_path, opened(str(target)), root=tmp_path / "root")
    assert found[str(target)].values == {"0": 2}


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', '{"a": {"site": 1}}'])
def test_a_damaged_file_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert load_written(tmp_path) == {}


@pytest.mark.parametrize(("size", "was_read"), [(3.0, True), (0.0, False)])
def test_whether_it_was_read_before(tmp_path: Path, work: Path, size: float, was_read: bool) -> None:
    """An empty one, or one that was not there, held nothing."""
    (work / "m.json").write_text("[1]")
    before = record(0, "setup", "opened", "open", detail="m.json", value=size, digest=None)
    assert kept(tmp_path, before, opened("m.json"))["m.json"].was_read is was_read


def test_beyond_the_limits_a_file_is_known_by_a_digest(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "_MOST_VALUES", 3)
    monkeypatch.setattr(keeping, "_MOST_TEXT", 9)
    for name, content in (
        ("a.json", "[1, 2]"),
        ("b.json", "[3, 4]"),
        ("a.log", "loss 1"),
        ("b.log", "loss 2"),
    ):
        (work / name).write_text(content)
    found = kept(tmp_path, *map(opened, ("a.json", "b.json", "a.log", "b.log")))
    assert len(found["a.json"].values) == 2 and found["a.log"].text == "loss 1"
    assert not found["b.json"].values and found["b.json"].digest
    assert found["b.log"].text is None and found["b.log"].digest
