"""What an edit of the user's code is."""

from __future__ import annotations

from dataclasses import dataclass


class NoEdit(Exception):
    """No edit of the user's code mends it; the message says why, and what does."""


class Unfaithful(NoEdit):
    """What would be edited makes runs equal and the training another; so does what is advised in general."""


@dataclass(frozen=True)
class Change:
    """Characters of one file replaced by `text`; where `start` is `end`, the text goes in between."""

    path: str  # relative to the working directory
    start: int
    end: int
    text: str
    imports: tuple[str, ...] = ()  # lines that the file needs for it, such as "import zlib"
    cost: str = ""  # what the user pays for it
    given: str = ""  # the seed that the program is given, as it stands in `text`


@dataclass(frozen=True)
class Wrap:
    """Characters of one file kept, with text put before and after them."""

    path: str
    start: int
    end: int
    before: str
    after: str
    imports: tuple[str, ...] = ()
    cost: str = ""  # what the user pays for it


@dataclass(frozen=True)
class Opening:
    """A line for the script that was started, run once, before it draws or computes anything.

    With `site`, a call site, for the file of that line instead. `name` is written as the script has imported
    it: "numpy.random.seed" may become "np.random.seed".
    """

    name: str
    rest: str  # of the line: "(0)" or " = True"
    comment: str = ""
    site: str | None = None
    rank: str | None = None  # it is given the number in this variable, and `rest` is left out
    base: int = 0  # what is added to that number


Edit = Change | Wrap | Opening
