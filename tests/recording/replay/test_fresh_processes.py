"""Processes in which an operation runs for the first time: they answer, and none of them is left behind.

Covers `call.py` and `worker_main.py`.
"""

from __future__ import annotations

import os
import signal
import time

import torch

from samerun.recording.replay.call import digest_all, take
from samerun.recording.replay.fresh_processes import Fresh


def call():
    return take("aten.add.Tensor", [torch.arange(4), torch.ones(4, dtype=torch.int64)], {})


def test_they_answer_though_a_fork_of_the_training_holds_their_pipes_open():
    fresh = Fresh()
    fresh.start()
    holder = os.fork()
    if holder == 0:
        time.sleep(100)
        os._exit(0)
    try:
        ways, why = fresh.run(call(), digest_all([torch.arange(1, 5)]))
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    assert why == ""
    assert [way["error"] for way in ways] == [None] * len(ways)
    first = next(way for way in ways if way["way"] == "first call of a process")
    assert (first["runs"], first["distinct"], first["equal"]) == (3, 1, 3)


def test_a_result_that_the_training_did_not_get_is_not_counted_as_its_own():
    ways, why = Fresh().run(call(), digest_all([torch.arange(4)]))
    assert why == ""
    assert {way["equal"] for way in ways} == {0}


def test_none_is_left_behind_by_a_training_that_did_not_need_them():
    fresh = Fresh()
    fresh.start()
    processes = list(fresh._processes)
    fresh._end()
    assert len(processes) == 3
    assert all(process.poll() is not None for process in processes)


def test_a_python_that_is_gone_is_said(monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    ways, why = Fresh().run(call(), b"")
    assert (ways, why) == ([], "no fresh process could run it (FileNotFoundError)")
