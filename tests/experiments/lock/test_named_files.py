from __future__ import annotations

from samerun.experiments.lock.named_files import collect_named, limit_files, name_file
from samerun.runs.lock.content import is_inside

A, B, C = ("a" * 32, "b" * 32, "c" * 32)


def test_a_file_is_named_by_its_path_below_the_folder_or_by_its_last_part() -> None:
    assert (
        name_file("data/x.csv", "/home/ada/net")
        == name_file("/home/ada/net/data/x.csv", "/home/ada/net")
        == "data/x.csv"
    )
    assert (
        name_file("../x.csv", "/home/ada/net") == name_file("/home/ada/x.csv", "/home/ada/net") == "…/x.csv"
    )


def test_files_of_one_name_count_together() -> None:
    both = collect_named([("…/x", A), ("…/x", B), ("y", C)])
    assert both["y"] == C and both["…/x"] not in (A, B)
    assert both == collect_named([("…/x", B), ("y", C), ("…/x", A)])
    assert both != collect_named([("…/x", A), ("…/x", C), ("y", C)])


def test_many_files_have_a_digest_for_each_folder_and_too_many_folders_one_for_all() -> None:
    files = {f"{folder}/{name}.py": A for folder in "pqr" for name in "xyz"}
    assert limit_files(files, 9) == files
    few = limit_files(files, 8)
    assert list(few) == ["p/", "q/", "r/"]
    assert limit_files({**files, "p/x.py": B}, 8)["p/"] != few["p/"]
    assert limit_files({**files, "p/x.py": B}, 8)["q/"] == few["q/"]
    assert list(limit_files(files, 2)) == ["./"] and limit_files(files, 2) != limit_files(
        {**files, "p/x.py": B}, 2
    )
    assert all(map(is_inside, (*few, "./")))
