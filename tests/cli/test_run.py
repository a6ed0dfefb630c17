from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from samerun.runs.store import Run, Store

from .command import samerun


@pytest.mark.everyday(2)
@pytest.mark.parametrize("code", [0, 1, 2, 75])
def test_it_exits_with_its_commands_own_code(code: int, tmp_path: Path) -> None:
    done = samerun("run", "--", sys.executable, "-c", f"import sys; sys.exit({code})", cwd=tmp_path)
    assert done.returncode == code
    assert "recorded as" in done.stderr


def test_a_child_that_cannot_be_controlled_runs_and_is_said(tmp_path: Path) -> None:
    """By -E it ignores the hash seed that it is given."""
    code = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-E', '-c', 'print(6 * 7)']))"
    done = samerun("run", "--", sys.executable, "-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "42\n")
    assert "this python ignores PYTHONHASHSEED, by -E or -I" in done.stderr


def test_a_command_killed_by_a_signal_exits_as_in_a_shell(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert samerun("run", "--", sys.executable, "-c", code, cwd=tmp_path).returncode == 137


@pytest.mark.everyday(1)
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


# Says when it is ready, and ends at a signal with a word and a code of its own.
_SAVES = """
import signal, sys, time
def save(number, frame):
    print('saved', flush=True)
    sys.exit(int(sys.argv[1]))
for name in sys.argv[2:]:
    signal.signal(getattr(signal, name), save)
print('ready', flush=True)
while True:
    time.sleep(0.01)
"""


@contextlib.contextmanager
def begun(folder: Path, code: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`samerun run` of a program that has printed its first line."""
    command = [sys.executable, "-m", "samerun.cli", "run", "--", sys.executable, "-c", code, *words]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()  # does nothing where it has ended


def only_run(folder: Path) -> Run:
    (run,) = Store(folder / ".samerun").list()
    return run


def when(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "this never happened"
        time.sleep(0.01)


@pytest.mark.everyday(2)
@pytest.mark.parametrize(
    ("name", "code"), [("SIGTERM", 0), ("SIGHUP", 3), ("SIGUSR1", 42), ("SIGUSR2", 1), ("SIGINT", 7)]
)
def test_a_signal_reaches_the_command_and_its_code_is_ours(name: str, code: int, tmp_path: Path) -> None:
    with begun(tmp_path, _SAVES, str(code), name) as process:
        process.send_signal(getattr(signal, name))
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "saved\n"), said
    run = only_run(tmp_path)
    assert (run.outcome, run.manifest.exit_code) == ("interrupted", code)
    ended = f"interrupted by {name}, which was passed on to it: it ended with exit code {code}"
    assert run.manifest.error == ("interrupted by Ctrl-C" if name == "SIGINT" else ended)
    assert (run.path / "output.txt").read_text() == "ready\nsaved\n"
    assert f"recorded as {run.id}" in said


@pytest.mark.everyday(2)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT"])
def test_a_signal_that_the_command_does_not_handle_ends_it_as_ever(name: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    with begun(tmp_path, _SAVES, "0") as process:
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert (only_run(tmp_path).outcome, only_run(tmp_path).manifest.exit_code) == ("interrupted", -number)


def test_a_command_that_goes_on_after_ctrl_c_is_ended_at_the_second(tmp_path: Path) -> None:
    with begun(tmp_path, _SAVES.replace("sys.exit", "int"), "0", "SIGINT") as process:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None and process.stdout.readline() == "saved\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert (only_run(tmp_path).outcome, only_run(tmp_path).manifest.exit_code) == ("interrupted", None)


def test_a_run_that_ended_with_0_after_a_signal_is_not_the_same_as_a_whole_one(tmp_path: Path) -> None:
    code = _SAVES.replace("while True:", "while len(sys.argv) > 2:")
    with begun(tmp_path, code, "0", "SIGTERM") as process:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert samerun("run", "--", sys.executable, "-c", code, "0", cwd=tmp_path).returncode == 0
    runs = Store(tmp_path / ".samerun").list()
    assert sorted(run.outcome for run in runs) == ["finished", "interrupted"]
    assert samerun("diff", *(run.id for run in runs), cwd=tmp_path).returncode == 3


def test_ctrl_z_stops_the_command_as_well_and_both_go_on(tmp_path: Path) -> None:
    with begun(tmp_path, _SAVES, "4", "SIGTERM") as process:
        ours = psutil.Process(process.pid)
        (command,) = [child for child in ours.children() if _SAVES in child.cmdline()]
        process.send_signal(signal.SIGTSTP)
        when(lambda: ours.status() == command.status() == psutil.STATUS_STOPPED)
        process.send_signal(signal.SIGCONT)
        when(lambda: psutil.STATUS_STOPPED not in (ours.status(), command.status()))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 4


_ENDLESS = "import sys\nwhile True: print('line')"


def test_a_command_whose_reader_has_gone_is_told_by_its_next_write(tmp_path: Path) -> None:
    with begun(tmp_path, _ENDLESS) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(60) == 1
    assert said.count("Traceback") == said.count("BrokenPipeError") == 1
    run = only_run(tmp_path)
    assert (run.outcome, run.manifest.exit_code) == ("failed", 1)
    assert (run.path / "output.txt").read_text().startswith("line\n")


def test_the_other_stream_of_such_a_command_goes_on(tmp_path: Path) -> None:
    code = (
        "import os\n"
        "try:\n"
        "    while True: os.write(2, b'line\\n')\n"
        "except BrokenPipeError: print('nobody reads that')"
    )
    words = [sys.executable, "-m", "samerun.cli", "run", "--", sys.executable, "-c", code]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stderr.readline() == "line\n"
        process.stderr.close()
        assert process.stdout.read() == "nobody reads that\n"
        assert process.wait(60) == 0


def test_with_both_streams_in_one_place_it_is_told_too(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "samerun.cli", "run", "--", sys.executable, "-c", _ENDLESS]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "line\n"
        process.stdout.close()
        assert process.wait(60) != 0
    assert only_run(tmp_path).outcome == "failed"


def test_with_standard_output_closed_from_the_start_the_output_is_kept(tmp_path: Path) -> None:
    words = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "samerun.cli", "run", "--"]
    done = subprocess.run([*words, "echo", "hello"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (only_run(tmp_path).path / "output.txt").read_text() == "hello\n"


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


@pytest.mark.slow
def test_a_name_that_repeats_is_explained_where_it_is_there_already(tmp_path):
    (tmp_path / "train.py").write_text("import os, torch, uuid\nos.mkdir(uuid.uuid4().hex)\n")
    command = ("--", sys.executable, "train.py")
    first, second = (samerun("run", *command, cwd=tmp_path) for _ in range(2))
    assert first.returncode == 0 and "uuid4()" not in first.stderr
    assert second.returncode == 1 and "the same in each controlled run" in second.stderr
    assert samerun("run", "--seed", "1", *command, cwd=tmp_path).returncode == 0
