"""What every source says of itself."""

from __future__ import annotations

import pytest

from samerun.experiments.describe_sources import describe_sources, to_json
from samerun.sources.catalogue import catalogue


def test_a_source_that_fails_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("no driver")

    monkeypatch.setattr(catalogue()["threads"], "describe", broken)
    described = {item.id: item for item in describe_sources()}
    assert list(described) == list(catalogue())
    assert described["threads"].error == "OSError: no driver"
    assert described["hardware"].error is None
    assert described["hardware"].says
    assert to_json(list(described.values()))["sources"]["threads"]["error"] == "OSError: no driver"
