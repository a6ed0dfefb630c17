"""Fail when a page links to a file or a heading of this repository that is not there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def headings(page: Path) -> set[str]:
    """The anchors that a renderer makes of a page's headings."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+\s+(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    """The links of one page that lead nowhere."""
    found = []
    for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in headings(target)):
            found.append(f"{page.relative_to(ROOT)}: {link}")
    return found


pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
problems = [problem for page in pages for problem in broken(page)]
print("\n".join(problems) or f"{len(pages)} pages, every link leads somewhere")
sys.exit(bool(problems))
