"""`python -m peers [--markdown]`: run the tests of this folder, and print what they show as a table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.console import Console

from .table import Outcomes, markdown, pretty


def main(arguments: list[str]) -> int:
    outcomes = Outcomes()
    code = pytest.main(["-W", "ignore", str(Path(__file__).parent)], plugins=[outcomes])
    rows = outcomes.rows.values()
    if arguments == ["--markdown"]:
        print(markdown(rows))
    else:
        Console().print(pretty(rows))
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
