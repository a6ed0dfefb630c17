"""Processes in which an operation of a training runs for the first time.

They import torch, which takes seconds, beside the training, from the first operation that is recorded on.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from samerun.recording.replay.call import Call
from samerun.recording.replay.worker_main import PROGRAM, Way, frame_data

_PROCESSES = 3
_PATIENCE = 30.0  # seconds for each of them, side by side: they may still be importing torch


class Fresh:
    """A few of them; each is used once."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._pid = 0  # of the process that started them: a fork of it has none
        self._why = ""  # there are none

    def start(self) -> None:
        """Start them, unless that was done."""
        if self._pid == os.getpid():
            return
        self._pid, self._processes = os.getpid(), []
        atexit.register(self._end)
        try:
            for _ in range(_PROCESSES):
                self._processes.append(_start())
        except OSError as error:
            self._why = _describe_no_process(error)

    def _end(self) -> None:
        """The training ends, and did not need them."""
        if self._pid == os.getpid():
            for process in self._processes:
                process.kill()
                process.wait()

    def run(self, call: Call, trained: bytes) -> tuple[list[dict[str, Any]], str]:
        """(what the call gives there, in each way, why that is not known)."""
        self.start()
        processes, self._processes = self._processes, []
        if self._why:
            return [], self._why
        request = json.dumps({"settings": _collect_settings(), "trained": trained.hex()}).encode()
        sent = frame_data(request) + frame_data(call.to_bytes())
        try:
            with ThreadPoolExecutor(len(processes)) as pool:
                found = list(pool.map(lambda process: _answer(process, sent), processes))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return [], _describe_no_process(error)
        return _join(found), ""


def _start() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.write(frame_data(json.dumps(sys.path).encode()))
    process.stdin.flush()
    return process


def _answer(process: subprocess.Popen[bytes], sent: bytes) -> list[dict[str, Any]]:
    try:
        answer, _ = process.communicate(sent, timeout=_PATIENCE)
    finally:
        process.kill()  # which does nothing to one that has ended
        process.wait()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    found: list[dict[str, Any]] = json.loads(answer)
    return found


def _describe_no_process(error: Exception) -> str:
    return f"no fresh process could run it ({type(error).__name__})"


def _join(found: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The same ways of several processes as one."""
    joined = []
    for same in zip(*found, strict=True):
        results = [result for way in same for result in way["results"]]
        errors = [way["error"] for way in same if way["error"]]
        way = Way(
            same[0]["way"],
            sum(way["runs"] for way in same),
            len(set(results)),
            sum(way["equal"] for way in same),
            errors[0] if errors else None,
        )
        joined.append(way._asdict())
    return joined


def _collect_settings() -> dict[str, Any]:
    """What a fresh process must set to compute as this one."""
    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch._C._get_deterministic_algorithms(),
        "warn_only": torch._C._get_deterministic_algorithms_warn_only(),
        "fill": torch._C._get_deterministic_fill_uninitialized_memory(),
        "precision": torch.get_float32_matmul_precision(),
        "mkldnn": torch._C._get_mkldnn_enabled(),
        "cudnn": [
            torch.backends.cudnn.enabled,
            torch.backends.cudnn.benchmark,
            torch.backends.cudnn.deterministic,
        ],
    }
