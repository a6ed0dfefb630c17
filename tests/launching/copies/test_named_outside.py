from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from samerun.launching.copies.named_outside import list_named_above, list_named_by_argument
from samerun.launching.copies.working_copy import make_scratch_copy


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ('load("../data/x.npz")', ["../data/x.npz"]),
        ("cd ../../tools && ./make.sh", ["../../tools"]),
        ("path: ./../data-2/train", ["../data-2/train"]),
        ("os.path.join('..', \"..\", 'data', name)", ["../../data"]),
        ('Path("..") / "data"', ["../data"]),
        ('HERE.parent / "data"', []),
        ('Path(__file__).parent.parent / "data"', ["../data"]),
        ('HERE.parents[2]/"data"', ["../../data"]),
        ("x[1...]; a..b; '...'; f'{i}../'", []),
        ("../" * 9 + "data", ["../" * 9 + "data"]),
        ('sys.path.append("..")\nfrom lib.a import b', ["../lib", "../lib.py"]),
        (
            "import lib\nsys.path.insert(0, os.path.join(HERE, '..', '..'))",
            ["../lib", "../lib.py", "../../lib", "../../lib.py"],
        ),
        ("sys.path.append(dirname(abspath(__file__)))\nimport lib", ["../lib", "../lib.py"]),
        ("sys.path.append('src')\nimport lib", []),
        ("import lib", []),
    ],
)
def test_what_a_text_names_above_its_folder(code: str, named: list[str]) -> None:
    assert list(list_named_above(code)) == named


@pytest.mark.parametrize("command", [["../data/x"], ["--data=../data/x"], ["bash", "-c", "cat ../data/x"]])
def test_data_that_only_the_command_names_is_in_the_copy_and_not_the_users_own(
    tmp_path: Path, command: list[str]
) -> None:
    here, data = tmp_path / "here", tmp_path / "data"
    here.mkdir()
    data.mkdir()
    (data / "x").write_text("1")
    with make_scratch_copy(here, command) as copy:
        named = copy / "../data/x"
        assert named.read_text() == "1"
        named.write_text("2")
    assert (data / "x").read_text() == "1"
    with make_scratch_copy(here, ["cat", "x", "/data/x"]) as copy:
        assert not (copy / "../data").exists()


def test_an_argument_may_be_a_path_with_spaces() -> None:
    assert "../my data/x" in list(list_named_by_argument("--data=../my data/x"))
    assert "../my data/x" in list(list_named_by_argument("../my data/x"))
    assert list(list_named_by_argument("--name=x.y")) == []


def test_what_is_made_in_a_folder_that_is_too_much_to_copy_is_made_in_the_copy(tmp_path: Path) -> None:
    here, big = tmp_path / "here", tmp_path / "big"
    here.mkdir()
    big.mkdir()
    for n in range(10_001):
        (big / f"{n}.txt").touch()
    (here / "train.sh").write_text("cat ../big/7.txt; touch ../big/new.txt")
    with make_scratch_copy(here) as copy:
        subprocess.run(["bash", "train.sh"], cwd=copy, check=True)
        assert (copy / "../big/new.txt").exists()
    assert not (big / "new.txt").exists()


def test_a_package_that_the_code_imports_from_above_is_in_the_copy(tmp_path: Path) -> None:
    here = tmp_path / "package" / "scripts"
    here.mkdir(parents=True)
    (tmp_path / "package" / "lib").mkdir()
    (tmp_path / "package" / "lib" / "__init__.py").write_text("value = 3\n")
    (here / "train.py").write_text("import sys\nsys.path.append('..')\nfrom lib import value\nprint(value)\n")
    with make_scratch_copy(here) as copy:
        done = subprocess.run([sys.executable, "train.py"], cwd=copy, capture_output=True, text=True)
    assert done.stdout == "3\n", done.stderr


def test_so_is_what_lies_beside_in_a_package_that_the_folder_is_a_part_of(tmp_path: Path) -> None:
    here = tmp_path / "package" / "sub"
    here.mkdir(parents=True)
    (here / ".git").mkdir()
    (tmp_path / "package" / "shared.py").touch()
    (here / "train.py").write_text("import sys\nsys.path.append('../..')\nfrom package.shared import x\n")
    with make_scratch_copy(here) as copy:
        assert (copy / "../shared.py").is_file()


def test_what_no_file_can_be_called_hurts_no_copy(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    names = ["../" + "x" * 4000, "../" + "y/" * 120 + "z", "../gone/data", "../../../../../../../../etc"]
    (here / "train.py").write_text("\n".join(map(repr, names)))
    (here / "gone.py").symlink_to("nowhere.py")
    with make_scratch_copy(here) as copy:
        assert sorted(path.name for path in copy.iterdir()) == ["gone.py", "train.py"]
