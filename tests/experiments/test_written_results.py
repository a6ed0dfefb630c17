"""Which values in files are results."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.editing.user_program import Code
from samerun.experiments.printing_lines import PrintingLines
from samerun.experiments.written_results import (
    describe_unjudged,
    find_differing_value,
    has_same_files,
    list_other_fractions,
    list_other_texts,
    list_results,
    list_unclassified,
    list_unread,
)
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


def lines_of(folder: Path, script: str) -> PrintingLines:
    (folder / "train.py").write_text(script)
    return PrintingLines(Code(folder, ("python", "train.py"), {"train.py": ""}))


def judged(
    folder: Path, name: str, one: Value, other: Value, path: str = "m.json"
) -> tuple[Value, ...] | None:
    lines = lines_of(folder, SCRIPT)
    runs = wrote(folder, *({path: WrittenFile("train.py:3", {name: value})} for value in (one, other)))
    found = find_differing_value(runs, lines)
    return None if found is None else (found.path, found.name, found.one, found.other, found.site)


def test_fractions_are_results_by_their_names_or_others_and_times_are_neither(tmp_path: Path) -> None:
    values: dict[str, Value] = {"auroc": 0.5, "0.kappa": 0.25, "step": 3, "seconds": 1.5, "name": "x"}
    (run,) = wrote(tmp_path, {"m.json": WrittenFile("train.py:3", values)})
    assert list_results(run) == {"m.json": {"auroc": 0.5}}
    assert list_other_fractions(run) == {"m.json": {"0.kappa": 0.25}}


@pytest.mark.parametrize("name", ["accuracy", "test.val_loss", "3.f1", "share"])
def test_a_result_that_differs_is_found_with_its_line(tmp_path: Path, name: str) -> None:
    assert judged(tmp_path, name, 0.5, 0.25) == ("m.json", name, 0.5, 0.25, "train.py:3")


@pytest.mark.parametrize(
    "name",
    [
        "seconds",
        "train_runtime",
        "timestamp",
        "run_id",
        "peak_memory",
        "best_samples_per_s",
        "fit",
        "mean",
        "unheard_of",
    ],
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


@pytest.mark.parametrize(
    ("path", "name", "counts"),
    [
        ("a.npz", "times", False),
        ("a.npz", "epoch_seconds", False),
        ("a.npz", "time_embedding", True),
        ("m.pkl", "array all", True),
        ("m.pkl", "array durations", False),
        ("m.json", "array_of_retries", False),
        ("m.pt", "tensor 0", True),
        ("m.pt", "best_acc", True),
        ("m.pt", "seconds", False),
        ("i.png", "image", True),
        ("events.out.tfevents.1", "3.eval/acc", True),
        ("events.out.tfevents.1", "3.time/fps", False),
        ("r.db", "r.0.value of acc", True),
        ("r.db", "r.0.value of runtime", False),
    ],
)
def test_arrays_pictures_and_values_but_for_times(tmp_path: Path, path: str, name: str, counts: bool) -> None:
    assert (judged(tmp_path, name, 0.5, 0.25, path) is not None) is counts


def test_a_picture_with_a_time_in_it_does_not_count(tmp_path: Path) -> None:
    runs = wrote(tmp_path, *({"i.png": WrittenFile("train.py:3", {"image": text})} for text in ("a", "b")))
    for plotted, counts in (("losses", True), ("time.time() - start", False)):
        lines = lines_of(tmp_path, f"import time\nstart = time.time()\nplt.title({plotted})\n")
        assert (find_differing_value(runs, lines) is not None) is counts


@pytest.mark.parametrize(
    ("name", "one", "other", "counts"),
    [
        ("val_acc", "1764170000123 0.5 1", "1764170009456 0.25 1", True),
        ("val_acc", "1764170000123 0.5 1", "1764170009456 0.5 1", False),
        ("val_acc", "1764170000.5 1e-05", "1764170009.4 2e-05", True),
        ("seconds", "0.5", "0.25", False),
    ],
)
def test_a_file_of_numbers_named_by_its_metric(
    tmp_path: Path, name: str, one: str, other: str, counts: bool
) -> None:
    paths = (f"mlruns/0/{run}/metrics/{name}" for run in ("4f0c1de2ab34", "99aa01bc23de"))
    files = ({path: WrittenFile(None, text=text)} for path, text in zip(paths, (one, other), strict=True))
    assert (find_differing_value(wrote(tmp_path, *files), PrintingLines(None)) is not None) is counts


WRITES = """\
import time
start = time.time()
with open("log.txt", "a") as log:
    log.write(f"epoch done, acc {acc:.3f}\\n")
    log.write(f"share {share}\\n")
    print(f"took {time.time() - start}", file=log)
"""


@pytest.mark.parametrize(
    ("one", "other", "site"),
    [
        ("epoch done, acc 0.5", "epoch done, acc 0.25", "train.py:4"),
        ("share 0.5", "share 0.25", "train.py:5"),
        ("took 0.5", "took 0.25", None),
        ("12:00:01 up", "12:00:02 up", None),
        ("acc 0.5", "acc 0.5", None),
    ],
)
def test_a_line_of_a_text_counts_as_one_that_is_printed(
    tmp_path: Path, one: str, other: str, site: str | None
) -> None:
    lines = lines_of(tmp_path, WRITES)
    texts = (f"begun\n{line}\n" for line in (one, other))
    found = find_differing_value(
        wrote(tmp_path, *({"log.txt": WrittenFile("train.py:3", text=text)} for text in texts)), lines
    )
    assert (None if found is None else found.site) == site


@pytest.mark.parametrize(
    ("one", "other", "counts"),
    [
        ("epoch4_acc0.556.pt", "epoch4_acc0.471.pt", True),
        ("val_loss=0.5-epoch=3.ckpt", "val_loss=0.4-epoch=3.ckpt", True),
        ("model_1700000000.pt", "model_1700000100.pt", False),
        ("run-0.556.txt", "run-0.471.txt", False),
        ("val_loss_2026-11-26_13-44.json", "val_loss_2026-11-26_13-45.json", False),
        ("acc_134455.png", "acc_134502.png", False),
        ("loss_1764170000.12.json", "loss_1764170009.34.json", False),
    ],
)
def test_a_result_in_the_name_of_a_file(tmp_path: Path, one: str, other: str, counts: bool) -> None:
    runs = wrote(tmp_path, *({f"out/{name}": WrittenFile(None, {"tensor 0": "a"})} for name in (one, other)))
    assert (find_differing_value(runs, PrintingLines(None)) is not None) is counts


def test_what_a_run_added_to_a_table_is_compared_with_what_the_run_before_added(tmp_path: Path) -> None:
    first = {"r.0.acc": 0.1, "r.1.acc": 0.5}  # the first row was there before both
    for name, last, was_read, counts in (
        ("same", 0.5, True, False),
        ("other", 0.25, True, True),
        ("anew", 0.25, False, False),  # the second run wrote all of it, and more of it, as time allowed
    ):
        (tmp_path / name).mkdir()
        files = (
            {"r.db": WrittenFile(None, values, was_read=was_read)}
            for values in (first, {**first, "r.2.acc": last})
        )
        runs = wrote(tmp_path / name, *files)
        assert (find_differing_value(runs, PrintingLines(None)) is not None) is counts


def test_a_value_of_which_nothing_is_known_is_told(tmp_path: Path) -> None:
    runs = wrote(tmp_path, *({"m.json": WrittenFile(None, {"share": value})} for value in (0.5, 0.25)))
    assert find_differing_value(runs, PrintingLines(None)) is None
    assert list_unclassified(runs) == [("m.json", "share")]
    (tmp_path / "times").mkdir()
    times = wrote(
        tmp_path / "times", *({"m.json": WrittenFile(None, {"seconds": value})} for value in (1.0, 2.0))
    )
    assert list_unclassified(times) == []


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    one, two = ({"m.pkl": WrittenFile(None, digest=text)} for text in ("a", "b"))
    runs = wrote(tmp_path, one, two, one)
    assert list_unread(runs[:2]) == ["m.pkl"]
    assert list_unread([runs[0], runs[2]]) == []
    assert list_unread(runs[:2], dated=False) == ["m.pkl"]
    (tmp_path / "dated").mkdir()
    dated = wrote(tmp_path / "dated", *({"plot.pdf": WrittenFile(None, digest=text)} for text in ("a", "b")))
    assert list_unread(dated) == ["plot.pdf"] and list_unread(dated, dated=False) == []
    assert has_same_files([runs[0], runs[2]]) and not has_same_files(runs)


def test_what_savez_calls_by_a_name_is_followed_to_a_clock(tmp_path: Path) -> None:
    script = "import time, numpy as np\nspent = time.time()\nnp.savez('a.npz', x=spent, y=scores)\n"
    lines = lines_of(tmp_path, script)
    for name, counts in (("x", False), ("y", True)):
        (tmp_path / name).mkdir()
        files = ({"a.npz": WrittenFile(None, {name: text})} for text in ("a", "b"))
        assert (find_differing_value(wrote(tmp_path / name, *files), lines) is not None) is counts


WROTE = "which the runs wrote,"


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("1\n0\n1\n", "1\n1\n1\n", True),
        ("1\n0\n1\n", "0\n1\n1\n", True),  # in another order
        ("true positives: 27\n", "true positives: 28\n", True),
        ("took 1.5 s\n2026-11-24 10:00:01,250 saved\n", "took 2 s\n2026-11-24 10:00:02,250 saved\n", False),
        ("10:00:01 in /tmp/a1, 5 it/s\n", "10:00:02 in /tmp/b2, 6 it/s\n", False),
    ],
)
def test_texts_that_differ_in_more_than_times_are_noted(
    tmp_path: Path, one: str, other: str, differs: bool
) -> None:
    runs = wrote(tmp_path, *({"p.txt": WrittenFile(None, text=text)} for text in (one, other)))
    assert list_other_texts(runs) == (["p.txt"] if differs else [])
    said = "; nothing says that what differs there is a result"
    assert describe_unjudged(runs) == ([f"p.txt, {WROTE} is not the same in both{said}"] if differs else [])


def test_each_file_that_is_not_the_same_is_named_or_counted(tmp_path: Path) -> None:
    runs = wrote(
        tmp_path,
        *(
            {
                **{f"{name}.txt": WrittenFile(None, text=f"{value}") for name in "abcd"},
                **{f"{name}.pkl": WrittenFile(None, digest=f"{value}") for name in "fg"},
                "m.json": WrittenFile(None, {"tp": value, "fp": value}),
            }
            for value in (3, 4)
        ),
    )
    assert describe_unjudged(runs) == [
        f"f.pkl and g.pkl, {WROTE} are not the same in both; what they hold is not compared",
        f"a.txt, b.txt, c.txt and 1 more file, {WROTE} are not the same in both; nothing says that what "
        "differs there is a result",
        f"tp in m.json and fp in m.json, {WROTE} are not the same in both; nothing says that they "
        "are results",
    ]


@pytest.mark.parametrize("path", ["last.pt", "m.json"])
def test_a_count_of_steps_is_a_result_and_other_counts_are_not(tmp_path: Path, path: str) -> None:
    for number, name in enumerate(["step", "best_epoch", "trainer.global_step", "episodes"]):
        (tmp_path / str(number)).mkdir()
        found = judged(tmp_path / str(number), name, 7, 8, path)
        assert found is not None and found[:2] == (path, name)
    for number, name in enumerate(["workers", "steps_per_second", "epoch_time", "batch_size"], 9):
        (tmp_path / str(number)).mkdir()
        assert judged(tmp_path / str(number), name, 7, 8, path) is None


def test_a_row_that_only_one_run_wrote_is_reported(tmp_path: Path) -> None:
    table = {"1.step": 1, "1.rate": 0.5, "2.step": 2, "2.rate": 0.25}
    shorter = {name: value for name, value in table.items() if name.startswith("1.")}
    one, other = wrote(
        tmp_path, {"a.csv": WrittenFile(None, {**table})}, {"a.csv": WrittenFile(None, shorter)}
    )
    assert describe_unjudged([one, other]) == ["a.csv holds 4 values of run A, and 2 of run B"]
    assert describe_unjudged([one, one]) == []


def test_a_place_in_a_list_is_no_name(tmp_path: Path) -> None:
    for number, (name, found) in enumerate([("val_loss.3", True), ("3.loss", True), ("seconds.3", False)]):
        (tmp_path / str(number)).mkdir()
        assert (judged(tmp_path / str(number), name, 0.5, 0.25) is not None) is found


FOLDERS = ["204109-7a891526", "204109-b138f7dc", "204110-00000000", "204110-e81f2a99"]


@pytest.mark.parametrize("trials", [1, 2])
def test_files_in_folders_named_by_time_and_id(tmp_path: Path, trials: int) -> None:
    """Of one trial the files belong together; of several nothing says which is which."""
    values = iter([0.5, 0.25, 0.25, 0.5])

    def files(folders: list[str]) -> dict[str, WrittenFile]:
        return {
            f"runs/{name}/m.json": WrittenFile("train.py:3", {"accuracy": next(values)}) for name in folders
        }

    runs = wrote(tmp_path, files(FOLDERS[:trials]), files(FOLDERS[trials : 2 * trials]))
    found = find_differing_value(runs, lines_of(tmp_path, SCRIPT))
    assert (None if found is None else (found.path, found.one, found.other)) == (
        (f"runs/{FOLDERS[0]}/m.json", 0.5, 0.25) if trials == 1 else None
    )


def test_one_trial_is_not_taken_for_each_of_several(tmp_path: Path) -> None:
    one = {f"runs/{name}/m.json": WrittenFile("train.py:3", {"accuracy": 0.5}) for name in FOLDERS[:2]}
    other = {f"runs/{FOLDERS[2]}/m.json": WrittenFile("train.py:3", {"accuracy": 0.25})}
    assert find_differing_value(wrote(tmp_path, one, other), lines_of(tmp_path, SCRIPT)) is None


@pytest.mark.parametrize("other", [0.5, 0.75])
def test_of_several_trials_the_one_that_differs_is_found(tmp_path: Path, other: float) -> None:
    """The trials that both runs made alike are known by what they wrote."""

    def files(folders: list[str], values: tuple[float, ...]) -> dict[str, WrittenFile]:
        given = zip(folders, values, strict=True)
        return {
            f"runs/{name}/m.json": WrittenFile("train.py:3", {"accuracy": value}) for name, value in given
        }

    runs = wrote(tmp_path, files(FOLDERS[:2], (0.25, 0.5)), files(FOLDERS[2:], (other, 0.25)))
    found = find_differing_value(runs, lines_of(tmp_path, SCRIPT))
    assert (None if found is None else (found.one, found.other)) == (None if other == 0.5 else (0.5, 0.75))
