"""A hook of `make docs`: links to files that have no page in the site lead to the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
REPOSITORY = "https://github.com/samerun/samerun"
PRIORITY = 10  # after the links are made (20), before mkdocs looks at them (0)


def rewrite(link: str, folder: Path) -> str:
    """A link of a page in this folder, as the site has it.

    A link that leads nowhere stays as it is, so that mkdocs reports it.
    """
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not parts.path:
        return link
    target = (folder / parts.path).resolve()
    if target.is_relative_to(DOCS) and target.is_dir() and (target / "README.md").exists():
        return f"{parts.path.rstrip('/')}/README.md" + (f"#{parts.fragment}" if parts.fragment else "")
    if not target.is_relative_to(ROOT) or not target.exists() or is_in_site(target):
        return link
    kind = "tree" if target.is_dir() else "blob"
    address = f"{REPOSITORY}/{kind}/main/{target.relative_to(ROOT).as_posix()}"
    return address + (f"#{parts.fragment}" if parts.fragment else "")


def is_in_site(target: Path) -> bool:
    """Whether the site has this file: all of docs/ but its programs."""
    return target.is_relative_to(DOCS) and target.is_file() and target.suffix != ".py"


class OutsideLinks(Extension):
    """Rewrites the links of the page in `folder`, which the hook sets for each page."""

    folder = DOCS

    def extendMarkdown(self, md: Markdown) -> None:
        """Add the processor of links."""
        md.treeprocessors.register(_Links(md, self), "outside_links", PRIORITY)


class _Links(Treeprocessor):
    def __init__(self, md: Markdown, extension: OutsideLinks) -> None:
        super().__init__(md)
        self._extension = extension

    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            link.set("href", rewrite(link.get("href", ""), self._extension.folder))


_extension = OutsideLinks()


def on_config(config: Any) -> Any:
    """Have every page go through the extension."""
    config.markdown_extensions.append(_extension)
    return config


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Keep the folder of the page that comes."""
    _extension.folder = Path(page.file.abs_src_path).parent
    return markdown
