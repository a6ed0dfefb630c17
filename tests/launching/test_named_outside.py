from __future__ import annotations

from pathlib import Path

import pytest

from samerun.launching.named_outside import list_named_above
from samerun.launching.working_copy import make_scratch_copy


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
    ],
)
def test_what_a_text_names_above_its_folder(code: str, named: list[str]) -> None:
    assert list(list_named_above(code)) == named


def test_what_no_file_can_be_called_hurts_no_copy(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    names = ["../" + "x" * 4000, "../" + "y/" * 120 + "z", "../gone/data", "../../../../../../../../etc"]
    (here / "train.py").write_text("\n".join(map(repr, names)))
    (here / "gone.py").symlink_to("nowhere.py")
    with make_scratch_copy(here) as copy:
        assert sorted(path.name for path in copy.iterdir()) == ["gone.py", "train.py"]
