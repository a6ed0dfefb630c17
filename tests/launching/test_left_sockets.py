"""What killed processes leave of multiprocessing's sockets is removed, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from samerun.launching.left_sockets import remove_afterwards

LISTENS = """
import multiprocessing.util, sys, time
from multiprocessing.connection import Listener
if sys.argv[1] == "own":
    folder = multiprocessing.util.get_temp_dir()
else:
    folder = sys.argv[1]
listener = Listener(folder + "/listener")
print(folder, flush=True)
time.sleep(60)
"""


@pytest.fixture
def listening() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for each in started:
        each.kill()
        each.wait()
        assert each.stdout is not None
        each.stdout.close()


def start(where: str, started: list[subprocess.Popen[str]]) -> tuple[psutil.Process, Path]:
    child = subprocess.Popen([sys.executable, "-c", LISTENS, where], stdout=subprocess.PIPE, text=True)
    started.append(child)
    assert child.stdout is not None
    return psutil.Process(child.pid), Path(child.stdout.readline().strip())


def test_the_folder_of_a_killed_process_is_removed(listening: list[subprocess.Popen[str]]) -> None:
    since = time.time() - 1
    process, folder = start("own", listening)
    with remove_afterwards([process], since):
        process.kill()
        listening[0].wait()
        assert (folder / "listener").exists()
    assert not folder.exists()


@pytest.mark.parametrize("since", [0.0, 60.0])
def test_older_ones_and_those_of_others_stay(
    tmp_path: Path, listening: list[subprocess.Popen[str]], since: float
) -> None:
    name = "pymp-older" if since else "others"
    (tmp_path / name).mkdir()
    process, folder = start(str(tmp_path / name), listening)
    with remove_afterwards([process], time.time() + since - 1):
        process.kill()
        listening[0].wait()
    assert (folder / "listener").exists()


def test_processes_that_have_gone_are_passed_over(listening: list[subprocess.Popen[str]]) -> None:
    process, folder = start("own", listening)
    process.kill()
    listening[0].wait()
    with remove_afterwards([process], 0.0):
        pass
    (folder / "listener").unlink()
    folder.rmdir()
