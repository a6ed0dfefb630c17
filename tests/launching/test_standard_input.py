"""Covers `standard_input.py`: what runs read that are made one after the other."""

import subprocess
import sys

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
