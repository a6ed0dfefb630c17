"""Operations that differ decide only where something else differs too."""

from __future__ import annotations

from samerun.comparing.compare import compare_all, compare_whole

from .build import Builder, find, flip, operation, training


def test_an_operation_without_effect_is_a_note_and_one_with_an_effect_is_not(build: Builder) -> None:
    plan = {"tier": "ops", "window": [-1, 0]}
    rows = training()
    rows.insert(0, operation(0, "aten::rand", "one", phase="setup"))
    other = training()
    other.insert(0, operation(0, "aten::rand", "two", phase="setup"))
    a, b = build(rows, tier="ops", plan=plan), build(other, tier="ops", plan=plan)
    assert compare_all([a, b])[0].verdict == "differs"
    (whole,) = compare_whole([a, b])
    assert whole.verdict == "same"
    assert any("aten::rand differs at model.py:9, without effect" in note for note in whole.notes)
    flip(other[find(other, "parameters", 2)])
    (whole,) = compare_whole([a, build(other, tier="ops", plan=plan)])
    assert whole.verdict == "differs" and whole.difference is not None
    assert whole.difference.op == "aten::rand"
