"""Workers of a process pool rest between two tasks, and there a `with Pool(…)` ends them by a signal.

So what they recorded is on disk before the pool has a task's result. Those of `concurrent.futures` and of
joblib leave by themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from samerun.wrapping import wrap_attribute

if TYPE_CHECKING:
    from samerun.recording.recorder import Recorder


def observe(recorder: Recorder, module: str) -> None:
    """See the tasks of a worker; `module` has the pool, and is imported."""
    rest, go_on = recorder.guard(recorder.rest), recorder.guard(recorder.sink.go_on)

    def work(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        queues = args[
            :2
        ]  # as Pool gives them; a ThreadPool's have no pipe, and its tasks end with the process
        if len(queues) == 2 and all(hasattr(queue, "_writer") for queue in queues):
            _see_tasks(*queues, rest, go_on)
        return original(*args, **kwargs)

    wrap_attribute(sys.modules[module], "worker", work)


def _see_tasks(given: Any, results: Any, rest: Callable[[], None], go_on: Callable[[], None]) -> None:
    get, put = given.get, results.put

    def take() -> Any:
        task = get()
        if task is not None:  # which has it leave
            go_on()
        return task

    def hand_over(result: Any) -> None:
        rest()
        put(result)

    given.get, results.put = take, hand_over
