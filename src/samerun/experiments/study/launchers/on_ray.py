"""Runs spread over a Ray cluster: https://docs.ray.io/en/latest/ray-core/tasks.html.

Every node needs samerun, the command and its folder at the same path. A run whose node or worker dies is
started again elsewhere, so no result is lost.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from samerun.errors import UsageError
from samerun.experiments.study.launchers.local import MODULE, answer
from samerun.experiments.study.tasks import Task, TaskResult

_TRIES = 5  # of one run, when what carries it out dies
_KNOCK_S = 5.0


def carry_out_all(tasks: Sequence[Task], address: str | None, cpus: float = 1) -> Iterator[TaskResult]:
    """What became of each, in the order in which they end.

    `address` is that of a cluster, None for one of this machine's own, which ends with the study. `cpus`
    are those that one run takes. Raises UsageError when Ray is not installed or not reached.
    """
    ray = _import_ray()
    began = not ray.is_initialized()
    if began:
        _connect(ray, address)
    try:
        remote = ray.remote(num_cpus=cpus, max_retries=_TRIES, retry_exceptions=True)(_carry_out)
        waiting = {remote.remote(task.to_json()): task for task in tasks}
        while waiting:
            ready, _ = ray.wait(list(waiting))
            task = waiting.pop(ready[0])
            try:
                code, out, error = ray.get(ready[0])
            except ray.exceptions.RayError as lost:
                yield TaskResult(task.key, None, reason=f"lost on the cluster: {str(lost).splitlines()[0]}")
                continue
            yield answer(task, code, out, error)
    finally:
        if began:
            ray.shutdown()


def _carry_out(text: str) -> tuple[int, str, str]:
    """On a worker: in a process of its own, since launching a command needs the main thread."""
    done = subprocess.run(
        [sys.executable, "-m", MODULE], input=text, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError("--launcher ray needs Ray; install it with: pip install 'samerun[ray]'") from None
    return ray


def _connect(ray: Any, address: str | None) -> None:
    _knock(address)
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise _make_unreached_error(address, said[0]) from None


def _knock(address: str | None) -> None:
    """Whether anybody is there: Ray itself tries for minutes, and then ends the process."""
    host, _, port = (address or "").rpartition("://")[2].rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), _KNOCK_S).close()
    except OSError as error:
        raise _make_unreached_error(address, error.strerror or str(error)) from None


def _make_unreached_error(address: str | None, said: str) -> UsageError:
    return UsageError(f"no Ray cluster at {address}: {said}; give its --address host:port")
