"""The detail of a record is what its reader knows, or nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from samerun.runs.details import parse_detail


class Known(msgspec.Struct):
    workers: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("detail", "kind", "expected"),
    [
        ('{"workers": [1, 2], "more": 3}', Known, Known((1, 2))),
        ("{}", Known, Known()),
        ('["a", "b"]', list[str], ["a", "b"]),
        ('{"low": NaN}', dict[str, str], None),
        ('{"file": "caf\\udce9"}', dict[str, Any], {"file": "caf\udce9"}),
    ],
)
def test_what_is_written_is_read(detail: str, kind: type, expected: object) -> None:
    assert parse_detail(detail, kind) == expected


def test_numbers_that_json_has_no_word_for() -> None:
    assert repr(parse_detail('{"low": NaN, "high": Infinity}', dict[str, Any])) == "{'low': nan, 'high': inf}"


@pytest.mark.parametrize("detail", [None, "", "model", "[", "5", '{"workers": 5}', '{"workers": ["x"]}'])
def test_anything_else_is_nothing(detail: str | None) -> None:
    assert parse_detail(detail, Known) is None


def test_a_detail_that_is_nested_too_deeply_is_nothing() -> None:
    assert parse_detail("[" * 200_000, list[str]) is None
    assert parse_detail('{"a":' * 200_000, dict[str, Any]) is None
