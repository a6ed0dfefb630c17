"""What the pytest plugin costs while it is not used: pytest's start, with and without it.

    python benchmarks/bench_pytest.py [ROUNDS]

`pytest --collect-only` in a folder with one empty test, no other plugin loaded; the two take turns.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 20
PLUGIN = "samerun.integrations.pytest_plugin"


def main() -> int:
    """Take turns, and print the medians."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)  # nobody compiles at each start
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only"]
    ways = {"without": command, "with": [*command, "-p", PLUGIN]}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_it.py").write_text("def test_nothing(): ...\n")
        for number in range(rounds + 1):
            for way, words in ways.items():
                start = time.perf_counter()
                subprocess.run(words, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
                if number:  # the first compiles
                    seconds[way].append(time.perf_counter() - start)
    without, with_it = (statistics.median(seconds[way]) for way in ("without", "with"))
    print(f"start of pytest, median of {rounds}: {without:.3f} s without, {with_it:.3f} s with")
    return 0


if __name__ == "__main__":
    sys.exit(main())
