"""One HTML file that says what was found: it opens offline, and trusts nothing in a run."""

from samerun.report.html.page import write

__all__ = ["write"]
