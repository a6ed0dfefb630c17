"""The trace of a long run stays bounded: single tensors are written while there is room, then rarely."""

from __future__ import annotations

import pytest

from samerun.cli.main import main
from samerun.comparing.compare_runs import compare
from samerun.comparing.growth import measure_growth

SCRIPT = """
import sys, torch
from torch import nn
from samerun.recording.trace import sink
sink._TENSORS = 800  # bytes: a step needs 128
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(25):
    optimizer.zero_grad()
    model(torch.randn(2, 3)).sum().backward()
    if step == int(sys.argv[1]): model[1].bias.grad += 1
    optimizer.step()
"""


def kept(run, what: str) -> list[int]:
    trace = run.traces()["rank0"]
    mask = trace.is_one_of("what", {what}) & trace.is_one_of("phase", {"optimizer"})
    table = trace.table.filter(mask).select(["step", "parts"]).to_pylist()
    assert [row["step"] for row in table] == list(range(25))  # the digest of the group is always there
    return [row["step"] for row in table if row["parts"]]


@pytest.mark.slow
def test_single_tensors_are_written_while_there_is_room_then_now_and_then(trainer):
    trainer.script(SCRIPT)
    run = trainer.record("train.py", "99")
    assert kept(run, "parameters") == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 22]
    (note,) = (row for row in trainer.rows(run, "note") if row.name == "tensors")
    assert note.step == 5
    assert "from step 5 on" in note.detail
    within = trainer.record("train.py", "99", tier="ops", window=(13, 14))
    assert kept(within, "gradients") == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 14, 16, 22]


@pytest.mark.slow
def test_a_difference_is_found_all_the_same(trainer):
    trainer.script(SCRIPT)
    same, other = (trainer.record("train.py", step) for step in ("99", "13"))
    result = compare(same, other)
    assert (result.difference.step, result.difference.what) == (13, "gradients")
    assert result.difference.name == "SGD"  # which tensor is not known there
    grown = measure_growth(same, other)
    assert (grown.reached_weights_at, grown.alive) == (13, True)
    parted = {item.step: (item.differing, item.parameters) for item in grown.distances}
    assert (parted[13], parted[16]) == ((1, 1), (1, 4))


@pytest.mark.slow
def test_a_run_says_its_rate(trainer, monkeypatch, capsys):
    trainer.script(SCRIPT)
    run = trainer.record("train.py", "99")
    monkeypatch.chdir(trainer.folder)
    assert main(["runs", "show", run.id]) == 0
    size = sum(path.stat().st_size for path in run.trace_paths())
    (said,) = (row for row in capsys.readouterr().out.splitlines() if row.startswith("trace"))
    assert said.split() == ["trace", f"{size / 1000:.1f}", "kB,", f"{size / 25:.0f}", "B", "a", "step"]
