"""Runs side by side on this machine, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from samerun.experiments.study.tasks import Task, TaskResult
from samerun.launching.watcher import watcher

MODULE = "samerun.experiments.study.tasks"


def carry_out_all(tasks: Sequence[Task], jobs: int) -> Iterator[TaskResult]:
    """What became of each, in the order in which they end.

    When the caller stops early (Ctrl-C), those under way are ended and those that wait never begin.
    """
    running: set[subprocess.Popen[str]] = set()
    pool = ThreadPoolExecutor(jobs)
    futures = [pool.submit(_carry_out_one, task, running) for task in tasks]
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
        for process in list(running):
            process.terminate()  # it ends its command, and keeps the run
        pool.shutdown(wait=True)


def _carry_out_one(task: Task, running: set[subprocess.Popen[str]]) -> TaskResult:
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running.add(process)
    try:
        with watcher.seeing_to_process(process.pid):
            out, error = process.communicate(task.to_json())
    finally:
        running.discard(process)
    return answer(task, process.returncode, out, error)


def answer(task: Task, code: int, out: str, error: str) -> TaskResult:
    """What a process that carried out a task says of it."""
    try:
        return TaskResult.from_json(out.strip().splitlines()[-1])
    except (IndexError, ValueError, TypeError):
        last = error.strip().splitlines()[-1:] or ["it said nothing"]
        return TaskResult(task.key, None, reason=f"its process ended with exit code {code}: {last[0]}")
