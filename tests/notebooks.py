"""Notebooks for tests, as their file's text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def write_notebook(*sources: str | Sequence[str], notes: str = "", **form: Any) -> str:
    """The JSON of a notebook with these code cells, below a cell of text."""
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "metadata": {}, "source": [f"# Notes {notes}"]}]
    for source in sources:
        kept = source if isinstance(source, str) else list(source)
        code = {"execution_count": None, "metadata": {}, "outputs": [], "source": kept}
        cells.append({"cell_type": "code", **code})
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(content, **(form or {"indent": 1})) + "\n"
