"""What every source says of itself."""

from __future__ import annotations

import pytest

from samerun.experiments.describe_sources import convert_to_json, describe_sources
from samerun.sources.catalogue import find_sources


def test_a_source_that_fails_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("no driver")

    monkeypatch.setattr(find_sources()["threads"], "describe", broken)
    described = {item.id: item for item in describe_sources()}
    assert list(described) == list(find_sources())
    assert described["threads"].error == "OSError: no driver"
    assert described["hardware"].error is None
    assert described["hardware"].says
    assert convert_to_json(list(described.values()))["sources"]["threads"]["error"] == "OSError: no driver"
