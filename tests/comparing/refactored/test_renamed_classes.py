"""A model whose class has another name in other code is the same model."""

from __future__ import annotations

import pytest

from samerun.comparing.compare_runs import compare

from ..build import Builder, Record, record, training


def of_code(rows: list[Record], digest: str, **names: str) -> list[Record]:
    """The records of a training of some code, with other names of its models."""
    detail = f'{{"train.py": "{digest}"}}'
    code = record(0, "setup", "setting", "code", detail=detail, digest=None)
    return [code, *({**row, "name": names.get(row["name"], row["name"])} for row in rows)]


def test_a_renamed_class_moves_no_bit(build: Builder) -> None:
    runs = build(of_code(training(), "a")), build(of_code(training(), "b", CNN="DigitClassifier"))
    assert compare(*runs).verdict == "same"


def test_one_bit_of_a_renamed_class_is_a_difference(build: Builder) -> None:
    rows = of_code(training(), "b", CNN="DigitClassifier")
    at = next(n for n, row in enumerate(rows) if row["what"] == "output" and row["step"] == 1)
    rows[at] = {**rows[at], "digest": bytes(16)}
    difference = compare(build(of_code(training(), "a")), build(rows)).difference
    assert difference is not None
    assert (difference.step, difference.what, difference.kind) == (1, "output", "value")


@pytest.mark.parametrize(("code", "more"), [("a", []), ("b", [record(0, "forward", "input", "Another")])])
def test_it_is_another_model_where_the_code_is_the_same_or_one_has_more(code, more, build: Builder) -> None:
    other = of_code([*training(), *more], code, CNN="DigitClassifier")
    assert compare(build(of_code(training(), "a")), build(other)).verdict == "differs"
