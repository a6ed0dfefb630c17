from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from samerun.runs.store import Store

from .command import samerun


@pytest.mark.parametrize("code", [0, 1, 2, 75])
def test_it_exits_with_its_commands_own_code(code: int, tmp_path: Path) -> None:
    done = samerun("run", "--", sys.executable, "-c", f"import sys; sys.exit({code})", cwd=tmp_path)
    assert done.returncode == code
    assert "recorded as" in done.stderr


def test_a_command_killed_by_a_signal_exits_as_in_a_shell(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert samerun("run", "--", sys.executable, "-c", code, cwd=tmp_path).returncode == 137


@pytest.mark.parametrize("torch", ["", "import torch; "])
def test_a_child_that_ctrl_c_ends_ends_by_its_signal(torch: str, tmp_path: Path) -> None:
    """A shell's loop, and a launcher, stop by it."""
    child = [sys.executable, "-c", f"{torch}raise KeyboardInterrupt"]
    code = f"import subprocess; print(subprocess.run({child!r}, stderr=subprocess.DEVNULL).returncode)"
    assert samerun("run", "--", sys.executable, "-c", code, cwd=tmp_path).stdout == f"{-signal.SIGINT}\n"


def test_the_commands_output_is_shown_and_kept_and_ours_is_apart(tmp_path: Path) -> None:
    done = samerun("run", "--", sys.executable, "-c", "print('hello')", cwd=tmp_path)
    assert done.stdout == "hello\n"
    (run,) = Store(tmp_path / ".samerun").list()
    assert (run.path / "output.txt").read_text() == "hello\n"


_TWO_STREAMS = """
import os
for i in range(300):
    os.write(1, b"out %d\\n" % i)
    os.write(2, b"err %d\\n" % i)
os.write(1, b"an end ")
os.write(2, b"without a line's\\n")
"""


def test_a_child_that_showed_ctrl_c_and_went_on_ends_as_ever(tmp_path: Path) -> None:
    (tmp_path / "prompt.py").write_text(
        "import code, sys\n"
        "interrupted = compile('raise KeyboardInterrupt', '<console>', 'exec')\n"
        "code.InteractiveInterpreter().runcode(interrupted)\n"
        "print(sys.last_type.__name__)\n"
    )
    code = (
        "import subprocess, sys\n"
        "done = subprocess.run([sys.executable, 'prompt.py'], capture_output=True, text=True)\n"
        "print(done.returncode, done.stdout)"
    )
    done = samerun("run", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.stdout.split() == ["0", "KeyboardInterrupt"]


def test_what_goes_to_standard_error_does_not_come_into_a_file_of_results(tmp_path: Path) -> None:
    done = samerun("run", "--", sys.executable, "-c", _TWO_STREAMS, cwd=tmp_path)
    assert done.stdout == "".join(f"out {i}\n" for i in range(300)) + "an end "
    assert done.stderr.startswith("".join(f"err {i}\n" for i in range(300)) + "without a line's\n")
    (run,) = Store(tmp_path / ".samerun").list()
    kept = (run.path / "output.txt").read_text().splitlines()
    assert sorted(kept) == sorted([*done.stdout.splitlines(), *done.stderr.splitlines()[:301]])


def test_in_one_place_they_come_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "samerun.cli", "run", "--", sys.executable, "-c", _TWO_STREAMS]
    done = subprocess.run(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    both = "".join(f"out {i}\nerr {i}\n" for i in range(300)) + "an end without a line's\n"
    assert done.stdout.startswith(both)


def test_a_command_that_hangs_is_ended_by_the_timeout(tmp_path: Path) -> None:
    code = "import threading; threading.Event().wait()"
    done = samerun("run", "--timeout", "1", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert done.returncode == 124
    assert "--timeout" in done.stderr


def test_ctrl_c_leaves_whole_runs_and_says_which(tmp_path: Path) -> None:
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    code = f"import threading; open({str(fifo)!r}, 'w').write('x'); threading.Event().wait()"
    words = ["check", "--", sys.executable, "-c", code]
    with subprocess.Popen(
        [sys.executable, "-m", "samerun.cli", *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        assert fifo.read_text() == "x"  # waits until the command runs
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    (run,) = Store(tmp_path / ".samerun").list()
    assert run.outcome == "interrupted"
    assert f"interrupted; runs kept in .samerun/runs: {run.id} (interrupted)" in said
    assert "Traceback" not in said
