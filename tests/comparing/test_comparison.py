"""What several comparisons with one run say together."""

from __future__ import annotations

from samerun.comparing.comparison import Comparison, Scope, list_notes


def test_what_is_not_judged_is_said_once_and_all_else_of_each_run() -> None:
    scope = Scope(("a", "b"))
    pairs = [
        Comparison("same", scope, notes=("first",)),
        Comparison("same", scope, notes=("first", "second"), unjudged=("8 lines differ",)),
        Comparison("same", scope, unjudged=("9 lines differ",)),
    ]
    assert list_notes(pairs) == ("first", "second", "8 lines differ")
    assert list_notes(pairs[:1]) == ("first",)
