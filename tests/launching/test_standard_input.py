"""Covers `standard_input.py`: what runs read that are made one after the other."""

import fcntl
import os
import struct
import subprocess
import sys
import termios

import pytest

READ = """
import os, subprocess, sys
from samerun.launching.standard_input import explain_unread, open_for_a_run

sys.stdin.buffer.raw.read(2)  # what came before us has been read
for _ in range(2):
    with open_for_a_run() as given:
        subprocess.run([sys.executable, "-c", "import sys; print(sys.stdin.read())"], stdin=given)
print(explain_unread())
print(os.read(0, 9))
"""


def read(**given):
    done = subprocess.run([sys.executable, "-c", READ], capture_output=True, text=True, **given)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_each_run_reads_the_whole_rest_of_a_file_and_we_none_of_it(tmp_path):
    path = tmp_path / "given"
    path.write_text("a\n0.1")
    with path.open() as file:
        assert read(stdin=file) == ["0.1", "0.1", "None", "b'0.1'"]
    with path.open() as file:
        path.unlink()
        assert read(stdin=file)[:2] == ["0.1", "0.1"]


def test_a_pipe_is_left_alone_and_said_to_wait():
    first, second, said, rest = read(input="a\n0.1")
    assert (first, second, rest) == ("", "", "b'0.1'")
    assert "write it to a file" in said


@pytest.mark.parametrize("given", [subprocess.DEVNULL, subprocess.PIPE])
def test_nothing_waits(given):
    more = {"stdin": given} if given == subprocess.DEVNULL else {"input": ""}
    assert read(**more) == ["", "", "None", "b''"]


ASK = """
import subprocess, sys
from samerun.launching.standard_input import open_for_a_run

for _ in range(2):
    with open_for_a_run() as given:
        look = "import os, sys; print(sys.stdin.isatty(), *os.get_terminal_size(0), repr(sys.stdin.read()))"
        subprocess.run([sys.executable, "-c", look], stdin=given, timeout=60)
        subprocess.run(["stty", "size"], stdin=given, timeout=60)
"""


def test_in_a_terminal_each_run_has_one_of_the_same_size_at_which_nobody_types():
    """As scripts ask that do `os.popen("stty size").read().split()`; what is typed is not theirs."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
    os.write(ours, b"typed\n")
    done = subprocess.run([sys.executable, "-c", ASK], stdin=theirs, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["True 97 31 ''", "31 97"] * 2, done.stderr
    assert os.read(theirs, 9) == b"typed\n"
    os.close(ours)
    os.close(theirs)
