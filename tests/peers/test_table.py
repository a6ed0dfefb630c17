"""docs/peers.md holds what `make peers` prints, and the pins are those of the extra."""

from __future__ import annotations

import re
from pathlib import Path

from .faults import PINS
from .table import Row, markdown, marked

ROOT = Path(__file__).parents[2]


def test_the_docs_hold_the_table() -> None:
    table = markdown(marked())
    assert len(marked()) >= 16
    assert table in (ROOT / "docs" / "peers.md").read_text(), f"put this into docs/peers.md:\n{table}"


def test_each_peer_of_the_table_is_pinned_in_the_extra() -> None:
    extra = re.search(r"^peers = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE | re.DOTALL)
    assert extra is not None
    assert dict(re.findall(r'"([\w-]+)==([\w.]+)"', extra[1])) == PINS
    assert {row.peer for row in marked()} == set(PINS)


def test_a_fault_that_is_gone_and_a_test_that_did_not_run_are_said() -> None:
    row = Row("grain", "a fault", "no fault")
    assert row.cells()[3:] == ("not run", "not run")
    row.found.update(test_peer="failed", test_samerun="failed")
    assert row.cells()[3:] == ("NO", "FAILED: no fault")
    row.found.update(test_peer="skipped", test_samerun="passed")
    assert row.cells()[3:] == ("not run", "no fault")
