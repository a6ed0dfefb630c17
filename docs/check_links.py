"""Fail when a page links to a file or heading that is not there, or has no place in the site.

`make docs` checks the links of the site as well; this needs nothing but Python.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"^ +- (?:[^:\n]+: )?(\S+\.md)$", re.MULTILINE)


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


def places() -> list[str]:
    """The pages that the navigation of mkdocs.yml names, by their paths in docs/."""
    return PLACE.findall((ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2])


def misplaced(named: list[str]) -> list[str]:
    """What a navigation that names these pages has too little, too much, or twice."""
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    return [
        *(f"mkdocs.yml: {page} is missing in nav" for page in sorted(pages - set(named))),
        *(f"mkdocs.yml: nav has {page}, which is not in docs/" for page in sorted(set(named) - pages)),
        *(f"mkdocs.yml: nav has {page} {times} times" for page, times in Counter(named).items() if times > 1),
    ]


def main() -> int:
    """Print what is wrong; the exit code."""
    pages = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    problems = [*(problem for page in pages for problem in broken(page)), *misplaced(places())]
    print(
        "\n".join(problems)
        or f"{len(pages)} pages, every link leads somewhere, each page of docs/ has its place"
    )
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
