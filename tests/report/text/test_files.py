from __future__ import annotations

import io

from rich.console import Console

from samerun.comparing.compare_files import FileComparison, LeafDifference
from samerun.comparing.tensor_distance import TensorDistance
from samerun.report.text.files import show


def render(found: FileComparison, width: int = 100) -> list[str]:
    file = io.StringIO()
    show(
        found, Console(file=file, width=width, highlight=False, markup=False, emoji=False, color_system=None)
    )
    return file.getvalue().splitlines()


def test_what_is_the_same_is_counted_and_what_was_left_out_is_said() -> None:
    found = FileComparison("a", "b", tensors=1200, values=1, notes=("not compared: README.md",))
    assert render(found) == ["✓ same — 1,200 tensors and 1 value, bit for bit", "  not compared: README.md"]
    assert render(FileComparison("a", "b", values=2)) == ["✓ same — 2 values, bit for bit"]


def test_a_long_name_has_a_line_of_its_own() -> None:
    name = "callbacks.ModelCheckpoint{'monitor': None, 'mode': 'min'}.dirpath"
    differences = [LeafDifference("lr", "value", "1", "2"), LeafDifference(name, "value", "'a'", "'b'")]
    found = FileComparison("a.pt", "b.pt", values=2, differing_values=2, differences=differences)
    assert render(found)[5:] == ["  lr  A 1, B 2", f"  {name}", "      A 'a', B 'b'"]


def test_a_tensor_that_is_all_of_a_file_and_one_without_dimensions() -> None:
    distance = TensorDistance((), "1.0", "nan (0x7fc00000)", 1, 1, None, None)
    differences = [LeafDifference("", "values", "float32 []", "float32 []", distance)]
    found = FileComparison("a.npy", "b.npy", tensors=1, differing_tensors=1, differences=differences)
    assert render(found)[0] == "✗ differs — 1 of 1 tensor differs"
    assert render(found)[5] == (
        "  (the whole file)  1 of 1 element of float32 []; first A 1.0, B nan (0x7fc00000)"
    )


def test_what_a_terminal_would_act_on_is_not_printed() -> None:
    differences = [
        LeafDifference("w\x1b[2J", "value", "\u202e", "\x07"),
        LeafDifference("x", "only in A", "1"),
    ]
    found = FileComparison("a\n.pt", "b.pt", values=2, differing_values=2, differences=differences)
    text = "\n".join(render(found))
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "a .pt" in text
