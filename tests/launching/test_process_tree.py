"""No process of a command outlives its launch, whatever it does to its signals, sessions and parents."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from samerun.launching import launch as module

# Ignores SIGINT and SIGTERM; so do its forked child and a grandchild in a new session whose parent ends,
# as torchrun's workers and daemons do. Each writes its id down before it says so.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def stay(name):
    with open(f'{name}.tmp', 'w') as file:
        file.write(str(os.getpid()))
    os.rename(f'{name}.tmp', f'{name}.pid')
    while True:
        time.sleep(1000)
if os.fork() == 0:
    stay('child')
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        stay('daemon')
    os._exit(0)
os.wait()
stay('main')
"""
NAMES = ("main", "child", "daemon")

PARENT = """
import signal, sys
from pathlib import Path
from samerun.launching import launch as module
from samerun.runs.plan import Plan
module._GRACE_S = float(sys.argv[1])
signal.signal(signal.SIGINT, lambda *_: None)  # what comes after the launch is for nobody
request = module.LaunchRequest([sys.executable, '-S', 'train.py'], passes_signals='passes' in sys.argv)
outcome = module.launch(request, Plan(run=sys.argv[2]), Path.cwd())
print(outcome.outcome, *sys.argv[3:] and [outcome.exit_code, outcome.error], flush=True)
"""


def when(condition, seconds: float = 20.0):
    """What `condition` gives once it gives something true; the time is only a bound."""
    until = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < until, "this never happened"
        time.sleep(0.01)
    return value


def processes(folder: Path) -> list[psutil.Process]:
    when(lambda: all((folder / f"{name}.pid").exists() for name in NAMES))
    return [psutil.Process(int((folder / f"{name}.pid").read_text())) for name in NAMES]


def alive(found: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in found if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(module, "_GRACE_S", 0.3)


def test_a_timeout_ends_the_whole_tree(launched, impatient):
    launched.write("train.py", STUBBORN)
    found: list[psutil.Process] = []

    def on_progress(progress):
        if not found and all((launched.cwd / f"{name}.pid").exists() for name in NAMES):
            found.extend(processes(launched.cwd))

    outcome = launched("python", "-S", "train.py", timeout=3, on_progress=on_progress)
    assert outcome.outcome == "timeout"
    assert outcome.error == "it had not ended after 3 s (the timeout) and was ended"
    assert len(found) == 3
    assert alive(found) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_no_orphan(launched, number):
    launched.write("train.py", STUBBORN)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "0.3", str(launched.run)],
        cwd=launched.cwd,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    found = processes(launched.cwd)
    assert len(alive(found)) == 3
    parent.send_signal(number)
    assert parent.communicate(timeout=20)[0] == b"interrupted\n"
    assert alive(found) == []


def test_a_second_ctrl_c_does_not_wait(launched):
    launched.write("train.py", STUBBORN)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "1000", str(launched.run)],
        cwd=launched.cwd,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    found = processes(launched.cwd)

    def ended():
        parent.send_signal(signal.SIGINT)
        return parent.poll() is not None

    when(ended)
    assert parent.communicate()[0] == b"interrupted\n"
    assert alive(found) == []


def test_ctrl_c_lets_the_command_end_in_its_own_way(launched):
    launched.write(
        "train.py",
        "import os, time\n"
        "try:\n    open('main.tmp', 'w').close(); os.rename('main.tmp', 'main.pid'); time.sleep(1000)\n"
        "except KeyboardInterrupt:\n    print('saved a checkpoint')\n",
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "20", str(launched.run)], cwd=launched.cwd, stdout=subprocess.PIPE
    )
    when((launched.cwd / "main.pid").exists)
    parent.send_signal(signal.SIGINT)
    assert parent.communicate(timeout=20)[0] == b"interrupted\n"
    assert launched.output == "saved a checkpoint\n"


def test_what_is_passed_on_has_no_time_limit(launched):
    """The first SIGTERM takes longer than every wait of ours, and the second does not cut it short."""
    launched.write(
        "train.py",
        "import os, signal, sys, time\n"
        "came = []\n"
        "signal.signal(signal.SIGTERM, lambda *_: came.append(open(f'main.{len(came)}', 'w')))\n"
        "open('main.pid', 'w')\n"
        "while not came: time.sleep(0.01)\n"
        "time.sleep(1.5)\n"
        "while len(came) < 2: time.sleep(0.01)\n"
        "sys.exit(5)\n",
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "0.1", str(launched.run), "passes"],
        cwd=launched.cwd,
        stdout=subprocess.PIPE,
    )
    for seen in ("main.pid", "main.0"):
        when((launched.cwd / seen).exists)
        parent.send_signal(signal.SIGTERM)
    said = "interrupted 5 interrupted by SIGTERM, which was passed on to it: it ended with exit code 5\n"
    assert parent.communicate(timeout=20)[0].decode() == said


def test_ctrl_c_ends_a_command_that_took_no_notice_of_sigterm(launched):
    launched.write("train.py", STUBBORN)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, "0.1", str(launched.run), "passes"],
        cwd=launched.cwd,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    found = processes(launched.cwd)
    parent.send_signal(signal.SIGTERM)
    parent.send_signal(signal.SIGINT)
    assert parent.communicate(timeout=20)[0] == b"interrupted None interrupted by Ctrl-C\n"
    assert alive(found) == []


def test_what_outlives_a_finished_command_is_ended(launched, impatient):
    launched.write("train.py", STUBBORN.replace("stay('main')", "sys.exit(0)"))
    outcome = launched(
        "sh", "-c", f"{sys.executable} -S train.py; while [ ! -e child.pid -o ! -e daemon.pid ]; do :; done"
    )
    assert outcome.outcome == "finished"
    ids = [int((launched.cwd / f"{name}.pid").read_text()) for name in ("child", "daemon")]
    assert [psutil.pid_exists(id_) for id_ in ids] == [False, False]


def test_what_outlives_it_briefly_is_waited_for(launched):
    launched("sh", "-c", f"({sys.executable} -S -c \"import os; os.setsid(); print('flushed')\") & exit 0")
    assert launched.output == "flushed\n"


def test_a_process_of_ours_that_is_not_the_commands_is_left_alone(launched, impatient):
    with (
        subprocess.Popen(["sleep", "1000"]) as before,
        subprocess.Popen(["sleep", "1000"], start_new_session=True) as apart,
    ):
        during: list[subprocess.Popen[bytes]] = []

        def on_progress(progress):
            if not during:
                during.append(subprocess.Popen(["sleep", "1000"], start_new_session=True))

        assert launched("sleep", "1000", timeout=0.2, on_progress=on_progress).outcome == "timeout"
        try:
            assert [other.poll() for other in (before, apart, *during)] == [None] * 3
        finally:
            for other in (before, apart, *during):
                other.kill()
                other.wait()


def test_handlers_and_adoption_are_put_back(launched):
    def theirs(number, frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, theirs)
    try:
        launched("true")
        assert signal.getsignal(signal.SIGTERM) is theirs
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before)
