"""The report as lines to paste."""

from __future__ import annotations

from samerun.experiments.diagnose.result import Diagnosis
from samerun.report.text.plain_text import render_plain

from ..results import DIFFERS, SAME


def test_as_a_terminal_of_that_width_shows_it_without_colours() -> None:
    text = render_plain(Diagnosis(SAME), 80)
    assert "same" in text.splitlines()[0]
    assert "\x1b" not in text
    wide, narrow = render_plain(Diagnosis(DIFFERS), 200), render_plain(Diagnosis(DIFFERS), 50)
    assert "step 7" in wide
    assert len(narrow.splitlines()) > len(wide.splitlines())
    assert all(line == line.rstrip() for line in narrow.splitlines())
