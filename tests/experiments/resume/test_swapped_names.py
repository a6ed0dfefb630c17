"""A network and its target are of one class: which is called first depends on where a process begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from samerun.experiments.resume.compare_resumed import compare_resumed

from .test_missing_state import Series, _record

SCRIPT = """\
import os
import torch
torch.manual_seed(0)
net, target = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
begin = 0
if os.path.exists("last.pt"):
    kept = torch.load("last.pt")
    net.load_state_dict(kept["net"])
    target.load_state_dict(kept["target"])
    optimizer.load_state_dict(kept["optimizer"])
    begin = kept["step"]
for step in range(begin, 12):
    x = torch.randn(8, 4, generator=torch.Generator().manual_seed(step))
    if step >= 6:
        with torch.no_grad(): net(x)  # acts by itself, once it has explored
    with torch.no_grad(): y = 0.9 * target(x)
    loss = (net(x) - y).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    if step % 5 == 4: target.load_state_dict(net.state_dict())
    states = {"net": net.state_dict(), "target": target.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save({**states, "step": step + 1}, "last.pt")
"""
LOADS = 'target.load_state_dict(kept["target"])'


@pytest.mark.parametrize(
    ("loads", "verdict", "named"),
    [(LOADS, "same", []), ("pass", "differs", ["other state"])],
)
def test_each_is_compared_with_itself(loads: str, verdict: str, named: list[str], tmp_path: Path) -> None:
    series = Series.of(tmp_path, SCRIPT.replace(LOADS, loads), 9)
    (tmp_path / "killed").rename(tmp_path / "resumed")
    back = compare_resumed(series.whole, [series.killed], _record(tmp_path, "resumed", ""))
    assert (back.comparison.verdict, [lack.what for lack in back.lacks]) == (verdict, named)
