"""What the whole run and the resumed one print at their end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from samerun.experiments.resume.last_lines import find_differing_last_line, find_other_count

WHOLE = "epoch 0 loss 0.9\nepoch 1 loss 0.5\nmean train loss: 0.7\nsaved best.pt in 3.2 s\n"
ALIKE = {
    "the same": "resumed\nepoch 1 loss 0.5\nmean train loss: 0.7\nsaved best.pt in 1.1 s\n",
    "the end of another epoch": "resumed\nepoch 2 loss 0.5\nmean train loss: 0.7\nsaved best.pt in 1.1 s\n",
    "loss of another step": "epoch 1 loss 0.5\nepoch 3 loss 0.4\n",
    "another last line": "epoch 1 loss 0.5\nmean train loss: 0.6\ndone\n",
    "nothing": "",
}
APART = {
    "a mean": ("epoch 1 loss 0.5\nmean train loss: 0.6\nsaved best.pt in 1.1 s\n", "mean train loss: 0.6"),
    "two ranks in another order": (
        "rank 1 loss 0.2\nrank 0 loss 0.1\nbest accuracy 0.4\n",
        "best accuracy 0.4",
    ),
}


def run(folder: Path, name: str, text: str, outcome: str = "finished") -> SimpleNamespace:
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "output.txt").write_text(text)
    return SimpleNamespace(path=folder / name, outcome=outcome, ignored=())


@pytest.mark.parametrize("name", ALIKE)
def test_nothing_is_seen_to_differ(tmp_path: Path, name: str) -> None:
    assert find_differing_last_line(run(tmp_path, "a", WHOLE), run(tmp_path, "b", ALIKE[name])) is None


@pytest.mark.parametrize("name", APART)
def test_a_result_of_the_last_lines_differs(tmp_path: Path, name: str) -> None:
    text, other = APART[name]
    whole = WHOLE if name == "a mean" else "rank 0 loss 0.1\nrank 1 loss 0.2\nbest accuracy 0.5\n"
    found = find_differing_last_line(run(tmp_path, "a", whole), run(tmp_path, "b", text))
    assert found is not None and found.other == other
    stopped = run(tmp_path, "b", text, "stopped")
    assert find_differing_last_line(run(tmp_path, "a", whole), stopped) is None


COUNTS = {
    "a counter that began anew": ("epoch 4 step 25 loss 0.5\ndone\n", True),
    "the same": ("epoch 4 step 40 loss 0.5\ndone\n", False),
    "another moment": ("epoch 4 step 25 loss 0.6\ndone\n", False),
    "no result": ("saved at step 3\n", False),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_beside_equal_results(tmp_path: Path, name: str) -> None:
    text, differs = COUNTS[name]
    whole = "saved at step 9\n" if name == "no result" else "epoch 4 step 40 loss 0.5\ndone\n"
    found = find_other_count(run(tmp_path, "a", whole), run(tmp_path, "b", text))
    assert (found is not None) == differs
