"""Markdown and LaTeX of texts that may come from a stranger."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


class Markup(ABC):
    """How a document is written."""

    @abstractmethod
    def text(self, value: str) -> str:
        """A value, so that it means nothing but itself."""

    @abstractmethod
    def code(self, value: str) -> str:
        """A value as it would be typed."""

    @abstractmethod
    def heading(self, value: str) -> str:
        """A line above a part."""

    @abstractmethod
    def listing(self, items: Sequence[tuple[str, str]]) -> str:
        """Items: a title, which is a value, and what is said, which is written already."""


class Markdown(Markup):
    """For a README or an appendix on the web."""

    def text(self, value: str) -> str:
        """With what Markdown and HTML would read as their own escaped."""
        return re.sub(r"([\\`*_\[\]<>|#&!~])", r"\\\1", _make_plain(value))

    def code(self, value: str) -> str:
        """Between more backticks than are in it."""
        plain = _make_plain(value)
        fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
        space = " " if plain.startswith("`") or plain.endswith("`") else ""
        return f"{fence}{space}{plain}{space}{fence}"

    def heading(self, value: str) -> str:
        """Of the second level."""
        return f"## {self.text(value)}"

    def listing(self, items: Sequence[tuple[str, str]]) -> str:
        """With the title in bold."""
        return "\n".join(f"- **{self.text(title)}** {said}" for title, said in items)


class Latex(Markup):
    """For a paper."""

    def text(self, value: str) -> str:
        """With what TeX would read as its own escaped."""
        return "".join(_LATEX.get(character, character) for character in _make_plain(value))

    def code(self, value: str) -> str:
        """In typewriter."""
        return rf"\texttt{{{self.text(value)}}}"

    def heading(self, value: str) -> str:
        """Without a number."""
        return rf"\paragraph{{{self.text(value)}}}"

    def listing(self, items: Sequence[tuple[str, str]]) -> str:
        """An itemize."""
        lines = [rf"  \item \textbf{{{self.text(title)}}} {said}" for title, said in items]
        return "\n".join([r"\begin{itemize}", *lines, r"\end{itemize}"])


def _make_plain(value: str) -> str:
    """On one line, without what moves a terminal's cursor."""
    return "".join(character if character.isprintable() else "�" for character in value)
