"""What counts as a result in what runs print, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.experiments.printed_results import find_differing_results
from samerun.runs.store import Run


def printed(folder: Path, *texts: str) -> list[Run]:
    runs = []
    for number, text in enumerate(texts):
        path = folder / str(number)
        path.mkdir()
        (path / "output.txt").write_text(text)
        runs.append(Run(path))
    return runs


@pytest.mark.parametrize(
    "line",
    [
        "accuracy: {}",
        "valid loss {} (best 0.1)",
        "epoch 3 val_acc={}",
        "{{'mean': {}, 'n': 50}}",
        "test/f1-score .... {}",
        "acc@1 {}",
        "ci {} took 1.25",
        "2026-11-24 12:00:01,250 INFO rmse = {}",
    ],
)
def test_a_result_that_differs_is_found(tmp_path: Path, line: str) -> None:
    found = find_differing_results(printed(tmp_path, line.format("0.91234"), line.format("0.91235")))
    assert found == (line.format("0.91234"), line.format("0.91235"))


@pytest.mark.parametrize(
    "line",
    [
        "took {} s",
        "elapsed time: {}",
        "mean time per step {}",
        "loss computed in {} ms",
        "score speed {} it/s",
        "saved to run-{}",
        "{}",
        "process id {}",
        "peak memory {} MiB",
        "2026-11-24 12:00:{} INFO accuracy 0.5",
    ],
)
def test_what_is_another_in_each_run_anyway_is_none(tmp_path: Path, line: str) -> None:
    assert find_differing_results(printed(tmp_path, line.format("12"), line.format("34"))) is None


def test_lines_may_come_in_another_order_and_by_progress_bars(tmp_path: Path) -> None:
    one, other = "loss 1.5\nloss 2.5\n 10%|#| \r 20%|##| acc 0.5\n", "loss 2.5\nloss 1.5\n 20%|##| acc 0.5\n"
    assert find_differing_results(printed(tmp_path, one, other)) is None


def test_the_third_run_counts_and_a_lost_output_does_not(tmp_path: Path) -> None:
    runs = printed(tmp_path, "loss 1.5", "loss 1.5", "loss 1.25")
    assert find_differing_results(runs) == ("loss 1.5", "loss 1.25")
    (runs[2].path / "output.txt").unlink()
    assert find_differing_results(runs) is None
