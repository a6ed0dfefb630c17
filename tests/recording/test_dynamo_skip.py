"""The compiler is told what to leave once it is imported."""

from __future__ import annotations

import sys
from types import CodeType, SimpleNamespace

import pytest

from samerun.recording import dynamo_skip


def test_at_once_or_when_it_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[CodeType] = []
    compiler = SimpleNamespace(eval_frame=SimpleNamespace(skip_code=told.append))
    early, late = (compile("1", name, "eval") for name in ("early", "late"))
    monkeypatch.setattr(dynamo_skip, "_known", [])
    monkeypatch.delitem(sys.modules, dynamo_skip.NAME, raising=False)
    dynamo_skip.skip(early)
    assert told == []
    monkeypatch.setitem(sys.modules, dynamo_skip.NAME, compiler)  # type: ignore[arg-type]
    dynamo_skip.skip_known()
    dynamo_skip.skip_known()
    assert told == [early]
    dynamo_skip.skip(late)
    assert told == [early, late]
