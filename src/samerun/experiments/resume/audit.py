"""What `samerun.state.audit` says of the checkpoints that a run went on from."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

_SECONDS = 60.0
_MOST = 4  # checkpoints
_HAS = re.compile(r": it has ([^;]+)")
_LISTED = 64  # files: a checkpoint in a folder may have many
# In a process of its own: this side of samerun does not import torch.
_PROGRAM = """\
import sys
from pathlib import Path
from samerun.errors import SamerunError, TorchNeeded
try:
    from samerun.state import audit
except TorchNeeded as error:
    print(f"audit of checkpoints: left out, since {error}")
    sys.exit()
def audit_one(path):
    try:
        return audit(path)
    except SamerunError:  # no checkpoint
        return None

most, *paths = sys.argv[1:]
whole, said = {}, {}  # what each folder is as a whole; what is said of each checkpoint
for path in map(Path, paths):
    if len(said) == int(most):
        break
    near = [folder for folder in path.parents[:2] if str(folder) != folder.root]
    for folder in near:  # a framework's folder is one checkpoint, the nearest first (global_step5 below it)
        if folder not in whole:
            whole[folder] = audit_one(folder)
    as_one = next((folder for folder in near if whole[folder] is not None), path)
    if as_one is path and path.suffix in (".json", ".yaml", ".yml"):
        continue  # settings
    if as_one not in said and (found := whole[as_one] if as_one in whole else audit_one(as_one)):
        said[as_one] = found
within = {}  # what the files of a folder have together: a checkpoint may be of several
for path, found in said.items():
    within.setdefault(path.parent, set()).update(found.has)
for path, found in said.items():
    beside = within[path.parent]
    if beside and not found.has:
        continue
    lacks = [lack.name for lack in found.lacks if not lack.only_if and lack.name not in beside]
    may = [lack.name for lack in found.lacks if lack.only_if and lack.name not in beside]
    parts = [("has", found.has), ("lacks", lacks), ("lacks, where they are used,", may)]
    parts = [f"{verb} {', '.join(names)}" for verb, names in parts if names]
    print(f"audit of {path}: it {'; '.join(parts)}")
"""


def list_saved(lines: Iterable[str]) -> frozenset[str]:
    """What these lines of `audit_files` say that a checkpoint has."""
    has = (found[1] for line in lines if (found := _HAS.search(line)))
    return frozenset(name for names in has for name in names.split(", "))


def audit_files(folder: Path, files: Iterable[Path]) -> list[str]:
    """One line for each checkpoint that these files are of; [] when none can be audited.

    A folder of a framework is one checkpoint, however many of its files were read.
    """
    command = [sys.executable, "-c", _PROGRAM, str(_MOST), *map(str, list(files)[:_LISTED])]
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
