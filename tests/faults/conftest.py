"""The corpus and its scorer stand in benchmarks/faults, which is no package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "faults"))
