"""What `samerun.state.audit` says of the checkpoints that a run went on from."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

_SECONDS = 60.0
_MOST = 4  # files
# In a process of its own: this side of samerun does not import torch.
_PROGRAM = """\
import sys
from samerun.errors import SamerunError, TorchNeeded
try:
    from samerun.state import audit
except TorchNeeded as error:
    print(f"audit of checkpoints: left out, since {error}")
    sys.exit()
for path in sys.argv[1:]:
    try:
        found = audit(path)
    except SamerunError:  # no checkpoint
        continue
    lacks = [lack.name for lack in found.lacks if not lack.only_if]
    may = [lack.name for lack in found.lacks if lack.only_if]
    said = [("has", found.has), ("lacks", lacks), ("lacks, where they are used,", may)]
    said = [f"{verb} {', '.join(names)}" for verb, names in said if names]
    print(f"audit of {path}: it {'; '.join(said)}")
"""


def audit_files(folder: Path, files: Iterable[Path]) -> list[str]:
    """One line for each file that can be audited; [] when none can."""
    command = [sys.executable, "-c", _PROGRAM, *map(str, list(files)[:_MOST])]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [line for line in done.stdout.splitlines() if line.startswith("audit of ")]
