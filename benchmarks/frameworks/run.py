"""Trains with each framework, plain and under samerun, and makes the table of docs/frameworks.md.

    python benchmarks/frameworks/run.py [NAMES] [--columns plain,planted] [--fresh] [--write]

Each script is copied to a folder of its own for each column (measuring.py). What came out is kept in
.samerun/frameworks/, and a column with a result is not made again without --fresh. --write makes the table
from all that is kept. Exits with 1 when a cell of those asked for is wrong or could not be made.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from framework_case import Framework, load
from measuring import COLUMNS
from page import judge, write

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / ".samerun" / "frameworks"
DISTRIBUTIONS = {"torch_geometric": "torch-geometric", "ignite": "pytorch-ignite"}


def main() -> int:
    """Make what has no result yet, say what is wrong, and write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", help="frameworks; default all")
    options.add_argument("--columns", default=",".join(COLUMNS), help="of " + ",".join(COLUMNS))
    options.add_argument("--fresh", action="store_true", help="make again what has a result")
    options.add_argument("--write", action="store_true", help="write the table of docs/frameworks.md")
    chosen = options.parse_args()
    columns = chosen.columns.split(",")
    unknown = [column for column in columns if column not in COLUMNS]
    if unknown:
        options.error(f"no column {', '.join(unknown)}; there are: {', '.join(COLUMNS)}")
    wrong = 0
    for framework in load(chosen.names):
        if not framework.installed:
            print(f"left out {framework.name}: {framework.package} is not installed", file=sys.stderr)
            continue
        for column in columns:
            kept = _read(framework)
            if chosen.fresh or "error" in kept.get(column, {"error": 0}):
                kept[column] = _make(framework, column)
                _keep(framework, kept)
            cell = judge(framework, column, kept[column])
            wrong += not cell.right
            print(f"{framework.name} {column}: {cell.text}", flush=True)
    if chosen.write:
        write(ROOT / "docs" / "frameworks.md", [(each, _read(each)) for each in load([])])
    return int(wrong > 0)


def _make(framework: Framework, column: str) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        values = COLUMNS[column](framework)
    except Exception:  # one framework must not end the others
        return {"error": traceback.format_exc()[-4000:]}
    distribution = DISTRIBUTIONS.get(framework.package, framework.package)
    return {
        "values": values,
        "seconds": round(time.perf_counter() - began),
        "when": datetime.date.today().isoformat(),
        "version": importlib.metadata.version(distribution),
    }


def _read(framework: Framework) -> dict[str, Any]:
    path = RESULTS / f"{framework.name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _keep(framework: Framework, kept: dict[str, Any]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{framework.name}.json"
    path.with_suffix(".part").write_text(json.dumps(kept, indent=1))
    path.with_suffix(".part").replace(path)


if __name__ == "__main__":
    sys.exit(main())
