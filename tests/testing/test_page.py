"""The snippets of docs/testing.md and docs/ranks.md run as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"
SNIPPETS = [
    pytest.param(snippet, id=f"{page}-{number}")
    for page in ("testing", "ranks")
    for number, snippet in enumerate(
        re.findall(
            r"^```python\n(.*?)^```",
            (DOCS / f"{page}.md").read_text(encoding="utf-8"),
            re.DOTALL | re.MULTILINE,
        )
    )
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_snippet_runs(snippet: str) -> None:
    scope: dict[str, Any] = {"__name__": "page"}
    exec(compile(snippet, "page", "exec"), scope)
    for name, value in list(scope.items()):
        if name.startswith("test_"):
            value()
