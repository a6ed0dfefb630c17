"""No false alarm: `samerun check -n 20 --controlled` on an example at two threads, five times in a row.

    python benchmarks/no_false_alarm.py [--runs 20] [--times 5] [--example scatter_gnn]

Every check must say "same". The default example differs at two threads in every run when left alone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--example", default="scatter_gnn")
    arguments = parser.parse_args()
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(EXAMPLES / f"{arguments.example}.py", folder)
        training = ["--", sys.executable, f"{arguments.example}.py"]
        check = [sys.executable, "-m", "samerun", "check", "-n", str(arguments.runs), "--controlled"]
        for n in range(arguments.times):
            begin = time.perf_counter()
            done = subprocess.run([*check, *training], cwd=folder, stdout=subprocess.PIPE, text=True)
            verdicts.append(done.returncode)
            line = next((line for line in done.stdout.splitlines() if line[:1] in "✓✗?"), "no verdict")
            print(f"{n + 1} of {arguments.times}: {line} ({time.perf_counter() - begin:.0f} s)", flush=True)
    return int(any(verdicts))


if __name__ == "__main__":
    sys.exit(main())
