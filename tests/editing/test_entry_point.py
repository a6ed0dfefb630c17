"""Which file a command line starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.editing.edit import NoEdit
from samerun.editing.entry_point import find_started

RAN = {"train.py": "", "pkg/train.py": "", "pkg/__main__.py": "", "data.py": ""}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py --lr 1", "train.py"),
        ("/usr/bin/python3.11 -u -W ignore ./train.py", "train.py"),
        ("python -m pkg.train", "pkg/train.py"),
        ("python -mpkg", "pkg/__main__.py"),
        ("python pkg", "pkg/__main__.py"),
        ("python -c print(1)", "<string>"),
        ("python -", "<stdin>"),
        ("python", "<stdin>"),
        ("python -X dev -m torch.distributed.run --nproc-per-node 2 data.py", "data.py"),
        ("torchrun data.py", "data.py"),
        ("python -m cProfile -o out data.py", "data.py"),
        ("python elsewhere/data.py", "data.py"),
    ],
)
def test_the_file_that_is_started(tmp_path: Path, command: str, expected: str) -> None:
    for path in RAN:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    assert find_started(command.split(), tmp_path, RAN) == expected


def test_an_installed_program_starts_the_file_that_it_imports(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "my-train"
    program.parent.mkdir()
    program.write_text("from pkg.train import main\nmain()\n")
    folder = tmp_path / "work"
    folder.mkdir()
    assert find_started(["python", str(program)], folder, RAN) == "pkg/train.py"


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ("nb/train.ipynb", "nb/train.ipynb"),
        ("python -m ipykernel_launcher -f kernel.json", "nb/train.ipynb"),
        ("python train.py --notebook nb/train.ipynb", "train.py"),
    ],
)
def test_a_notebook_is_started_by_its_kernel_and_not_by_who_is_given_it(
    tmp_path: Path, command: str, started: str
) -> None:
    ran = {"nb/train.ipynb": "", "train.py": ""}
    assert find_started(command.split(), tmp_path, ran) == started


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("python -m ipykernel_launcher", "notebook"),
        ("python -m nobody.knows", "`python -m nobody.knows`, is not in the working directory"),
        ("bash run.sh", "is not known"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path: Path, command: str, why: str) -> None:
    with pytest.raises(NoEdit, match=why):
        find_started(command.split(), tmp_path, RAN)
