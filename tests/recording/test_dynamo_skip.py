"""The compiler is told what to leave once it is imported."""

from __future__ import annotations

import sys
from types import CodeType, SimpleNamespace

import pytest
import torch

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


def test_a_function_is_kept_out_once_there_is_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch._compile, "_disable_dynamo", lambda function: lambda *given: ("out", *given))
    monkeypatch.setattr(dynamo_skip, "_known", [])
    monkeypatch.delitem(sys.modules, dynamo_skip.NAME, raising=False)
    kept = dynamo_skip.keep_out(lambda *given: given)
    assert kept(1, 2) == (1, 2)
    assert dynamo_skip.NAME not in sys.modules
    assert dynamo_skip._known == [kept.__code__]
    monkeypatch.setitem(sys.modules, dynamo_skip.NAME, SimpleNamespace())  # type: ignore[arg-type]
    assert kept(1, 2) == ("out", 1, 2)
