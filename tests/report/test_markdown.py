"""A result as Markdown, and for GitHub: what strangers' names hold must not become markup or a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from samerun.errors import UsageError
from samerun.experiments.check.result import CheckResult
from samerun.report import github, markdown
from samerun.report.text import check
from samerun.report.text.plain_text import render_text

from .results import DIFFERS, SAME, UNKNOWN


def annotate(result: CheckResult, **changed: Any) -> str:
    text = render_text(lambda console: check.show(result, console), 1000)
    return github.write_annotation({**result.to_json(), **changed}, text)


@pytest.mark.parametrize(
    ("result", "heading"), [(SAME, "✓ same"), (DIFFERS, "✗ differs"), (UNKNOWN, "? unknown")]
)
def test_the_verdict_is_the_heading(result: CheckResult, heading: str) -> None:
    lines = markdown.render(lambda console: check.show(result, console)).splitlines()
    assert (lines[0], lines[2], lines[-1]) == (f"### {heading}", "```text", "```")
    assert "\n".join(lines[3:-1]) == render_text(lambda console: check.show(result, console), 100).rstrip()


def test_nothing_ends_the_fence_or_marks_the_heading() -> None:
    lines = markdown.render(lambda console: console.print("a <b> `c` — d\n````\n# e")).splitlines()
    assert lines == ["### a \\<b\\> \\`c\\`", "", "`````text", "a <b> `c` — d", "````", "# e", "`````"]


def test_a_note_at_the_line_of_the_cause() -> None:
    said = annotate(DIFFERS)
    site = (
        next((cause.call_site for cause in DIFFERS.causes if cause.call_site), None)
        or DIFFERS.difference.call_site
    )
    file, _, line = str(site).rpartition(":")
    assert said.startswith(f"::error file={file},line={line},title=samerun::✗ differs")
    assert said.count("\n") == 1 and f"%0A{DIFFERS.causes[0].source}" in said
    assert annotate(SAME) == ""
    assert annotate(UNKNOWN).startswith("::warning title=samerun::? unknown")


def test_what_a_note_holds_is_no_command() -> None:
    cause = {"source": "code", "confirmed": True, "advice": "a\n::set-env::%0A", "call_site": "a,b:c.py:3"}
    said = annotate(DIFFERS, causes=[cause])
    assert "::error file=a%2Cb%3Ac.py,line=3,title" in said and said.count("\n") == 1
    assert said.rstrip().endswith("code: a%0A::set-env::%250A")
    cell = annotate(DIFFERS, causes=[{**cause, "call_site": "nb/train.ipynb[3]:2"}])
    assert cell.startswith("::error file=nb/train.ipynb,title=samerun::")


def test_the_summary_is_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(github.SUMMARY, raising=False)
    github.add_to_summary("a")
    monkeypatch.setenv(github.SUMMARY, str(tmp_path / "summary.md"))
    github.add_to_summary("a\n")
    github.add_to_summary("b\n")
    assert (tmp_path / "summary.md").read_text() == "a\nb\n"
    monkeypatch.setenv(github.SUMMARY, str(tmp_path))
    with pytest.raises(UsageError, match="cannot be written"):
        github.add_to_summary("c")
