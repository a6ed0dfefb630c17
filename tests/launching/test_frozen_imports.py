"""Variables beside `import torch` are freed as ever, and what files hold is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

AT_MODULE = """\
import torch
class Last:
    def __del__(self): print("freed", flush=True)
last, file = Last(), open({path!r}, "w")
file.write("written")
"""
IN_FUNCTION = """\
class Last:
    def __del__(self): print("freed", flush=True)
def main():
    import torch
    last, file = Last(), open({path!r}, "w")
    file.write("written")
main()
"""
# In a reference cycle with the script's own function, and freed while what it needs is still there.
IN_CYCLE = """\
import other, torch
def find(): return last, file
last, file = other.Last(), open({path!r}, "w")
file.write("written")
"""
OTHER = """\
import os
class Last:
    def __del__(self): os.write(1, b"freed")
"""
IN_ANOTHER = """\
import sys
sys.path.insert(0, {folder!r})
import other
"""


@pytest.mark.everyday(1)
@pytest.mark.parametrize("program", [AT_MODULE, IN_FUNCTION, IN_ANOTHER, IN_CYCLE])
def test_what_the_script_leaves_open_is_written_and_what_it_holds_is_freed(
    tmp_path: Path, program: str
) -> None:
    path = tmp_path / "left_open.txt"
    other = OTHER if program == IN_CYCLE else AT_MODULE.format(path=str(path))
    (tmp_path / "other.py").write_text(other)
    (tmp_path / "train.py").write_text(program.format(path=str(path), folder=str(tmp_path)))
    for command in ([], ["-m", "samerun", "run", "--", sys.executable]):
        path.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, *command, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert "freed" in done.stdout
        assert path.read_text() == "written"
