"""Which values in files are results."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.editing.user_program import Code
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.written_results import find_differing_value, find_unread, has_same_files
from samerun.runs.store import Run
from samerun.runs.written import Value, WrittenFile, save_written

SCRIPT = """\
import json, time
start = time.time()
json.dump({"share": share, "fit": time.time() - start, "mean": time.time() - start}, open("m.json", "w"))
"""


def wrote(folder: Path, *files: dict[str, WrittenFile]) -> list[Run]:
    runs = []
    for number, of_run in enumerate(files):
        path = folder / str(number)
        path.mkdir()
        save_written(of_run, path)
        runs.append(Run(path))
    return runs


def judged(
    folder: Path, name: str, one: Value, other: Value, path: str = "m.json"
) -> tuple[Value, ...] | None:
    (folder / "train.py").write_text(SCRIPT)
    lines = PrintingLines(Code(folder, ("python", "train.py"), {"train.py": ""}))
    runs = wrote(folder, *({path: WrittenFile("train.py:3", {name: value})} for value in (one, other)))
    found = find_differing_value(runs, lines)
    return None if found is None else (found.path, found.name, found.one, found.other, found.site)


@pytest.mark.parametrize("name", ["accuracy", "test.val_loss", "3.f1", "share"])
def test_a_result_that_differs_is_found_with_its_line(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, name, 0.5, 0.25) == ("m.json", name, 0.5, 0.25, "train.py:3")


@pytest.mark.parametrize(
    "name", ["seconds", "train_runtime", "timestamp", "run_id", "peak_memory", "fit", "mean", "unheard_of"]
)
def test_times_and_what_is_not_known_do_not_count(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, name, 0.5, 0.25) is None


@pytest.mark.parametrize("name", ["share", "retries"])
def test_counts_do_not_count_where_nothing_says_what_they_are(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, name, 3, 4) is None


@pytest.mark.parametrize(
    ("name", "counts"), [("prediction", True), ("class", True), ("host", False), ("text_id", False)]
)
def test_texts_count_where_their_name_says_so(tmp_path: Path, name: str, counts: bool) -> None:
    assert (judged(tmp_path, name, "aa", "bb") is not None) is counts


def test_an_equal_result_is_the_same(tmp_path: Path) -> None:
    assert judged(tmp_path, "accuracy", 0.5, 0.5) is None


@pytest.mark.parametrize("path", ["a.npy", "m.safetensors"])
def test_arrays_and_tensors_always_count(tmp_path: Path, path: str) -> None:
    assert judged(tmp_path, "array", "aa", "bb", path) is not None


def test_files_are_known_by_their_path_but_for_times_and_ids(tmp_path: Path) -> None:
    one, other, third = (
        {path: WrittenFile(None, {"loss": value})}
        for path, value in (
            ("out/2026-11-24_10-01/m.json", 1),
            ("out/2026-11-24_10-02/m.json", 2),
            ("else/m.json", 3),
        )
    )
    none = PrintingLines(None)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert find_differing_value(wrote(tmp_path / "a", one, other), none) is not None
    assert find_differing_value(wrote(tmp_path / "b", one, third), none) is None


@pytest.mark.parametrize(
    ("others", "found"),
    [
        ({"/tmp/tmp.jYXYWQtVrN/m.json": "train.py:3"}, True),
        ({"/tmp/tmp.jYXYWQtVrN/m.json": "train.py:4"}, False),
        ({"/tmp/tmp.jYXYWQtVrN/best.json": "train.py:3"}, False),
        ({"/tmp/tmp.jYXYWQtVrN/m.json": "train.py:3", "/tmp/tmp.kZ/m.json": "train.py:3"}, False),
    ],
)
def test_a_file_in_a_folder_with_a_random_name_is_known_by_its_line(
    tmp_path: Path, others: dict[str, str], found: bool
) -> None:
    one = {"/tmp/tmp.pvKcxxujyw/m.json": WrittenFile("train.py:3", {"loss": 0.5})}
    other = {path: WrittenFile(site, {"loss": 0.25}) for path, site in others.items()}
    assert (find_differing_value(wrote(tmp_path, one, other), PrintingLines(None)) is not None) == found


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    one, two = ({"m.pkl": WrittenFile(None, digest=text)} for text in ("a", "b"))
    runs = wrote(tmp_path, one, two, one)
    assert find_unread(runs[:2]) == "m.pkl"
    assert find_unread([runs[0], runs[2]]) is None
    assert has_same_files([runs[0], runs[2]]) and not has_same_files(runs)
