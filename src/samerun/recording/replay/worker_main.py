"""In a fresh process: runs an operation that a training sent here, alone, and reports what came out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# Isolated from the environment and the working directory: it is sent the training's own path first. What
# is sent tells its length: a fork of the training may hold the pipe open. It leaves without tidying up, which
# takes torch half a second.
PROGRAM = """
import gc, json, os, sys
gc.disable()
def sent():
    return sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "little"))
sys.path[:] = json.loads(sent())
from samerun.recording.replay.worker_main import main
main(sent)
sys.stdout.flush()
os._exit(0)
"""

_RUNS = 10
_SECONDS = 1.0  # for one way: at least twice, then as often as there is time


def frame_data(data: bytes) -> bytes:
    """As PROGRAM reads it."""
    return len(data).to_bytes(8, "little") + data


class Way(NamedTuple):
    """What came of running an operation again in one way."""

    way: str
    runs: int
    distinct: int  # results
    equal: int  # runs that gave what the training got
    error: str | None  # why it could not be run


def run_several(
    name: str, again: Callable[[], bytes], trained: bytes, clock: Callable[[], float] = time.perf_counter
) -> Way:
    """Run it a few times."""
    results, error = _collect_results(again, _RUNS, clock)
    return Way(name, len(results), len(set(results)), results.count(trained), error)


def _collect_results(
    again: Callable[[], bytes], most: int, clock: Callable[[], float]
) -> tuple[list[bytes], str | None]:
    results: list[bytes] = []
    until = clock() + _SECONDS
    try:
        while len(results) < most and (len(results) < 2 or clock() < until):
            results.append(again())
    except Exception as error:  # it has no deterministic implementation, or there is no memory for it
        return results, f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:300]
    return results, None


def main(sent: Callable[[], bytes]) -> None:
    """Import torch, then wait for a call to be sent; write what came of it, in each way, as JSON."""
    import torch

    from samerun.recording.ops.op_schema import make_came
    from samerun.recording.replay.call import Call

    text = sent()
    if not text:  # the training has ended
        return
    request: dict[str, Any] = json.loads(text)
    threads: int = request["settings"]["threads"]
    _set(request["settings"])
    call = Call.from_bytes(sent())

    def again() -> bytes:
        function = call.function()
        return call.run(function, make_came(function))

    ways = [
        _report_way("first call of a process", again, 1),
        _report_way(f"later calls, {threads} thread{'' if threads == 1 else 's'}", again, _RUNS),
    ]
    if threads > 1:
        torch.set_num_threads(1)
        ways.append(_report_way("later calls, 1 thread", again, _RUNS))
    for way in ways:
        way["equal"] = way["results"].count(request["trained"])
    print(json.dumps(ways))


def _report_way(name: str, again: Callable[[], bytes], most: int) -> dict[str, Any]:
    results, error = _collect_results(again, most, time.perf_counter)
    return {"way": name, "runs": len(results), "results": [one.hex() for one in results], "error": error}


def _set(settings: dict[str, Any]) -> None:
    """Compute as the training does."""
    import torch

    if torch.get_num_threads() != settings["threads"]:
        torch.set_num_threads(settings["threads"])
    torch._C._set_deterministic_algorithms(settings["deterministic"], warn_only=settings["warn_only"])
    torch._C._set_deterministic_fill_uninitialized_memory(settings["fill"])
    torch.set_float32_matmul_precision(settings["precision"])
    torch._C._set_mkldnn_enabled(settings["mkldnn"])
    cudnn = torch.backends.cudnn
    cudnn.enabled, cudnn.benchmark, cudnn.deterministic = settings["cudnn"]
