"""Whose an error is that comes up in code of ours."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from samerun.interruption import is_the_scripts


class TimeUp(Exception):
    pass


def raising(*_: Any) -> None:
    raise TimeUp


def _plain(number: int, frame: Any) -> None:
    raise TimeUp


class Limit:
    def __call__(self, number: int, frame: Any) -> None:
        raise RuntimeError("out of time")

    def ring(self, number: int, frame: Any) -> None:
        raise ValueError(number)


def ours(act: Callable[[], Any]) -> Any:
    """A function of samerun's that does it."""
    space: dict[str, Any] = {"__name__": "samerun.recording.made_up", "act": act}
    exec("def hook():\n    return act()\n", space)
    return space["hook"]()


@pytest.fixture
def alarm() -> Iterator[Callable[[Any], Callable[[], None]]]:
    before = signal.getsignal(signal.SIGALRM)

    def with_handler(handler: Any) -> Callable[[], None]:
        signal.signal(signal.SIGALRM, handler)
        return functools.partial(signal.raise_signal, signal.SIGALRM)

    yield with_handler
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "handler", [raising, _plain, Limit(), Limit().ring, functools.partial(_plain), lambda *a: 1 / 0]
)
def test_what_a_signals_handler_raises_is_the_scripts(
    handler: Any, alarm: Callable[[Any], Callable[[], None]]
) -> None:
    with pytest.raises((TimeUp, RuntimeError, ValueError, ZeroDivisionError)) as raised:
        ours(alarm(handler))
    assert is_the_scripts(raised.value)


@pytest.mark.parametrize(("module", "theirs"), [("recording.made_up", True), ("digest.values", False)])
def test_what_another_thread_raises_in_ours_is_the_scripts(module: str, theirs: bool) -> None:
    """In a digest it may be what a method of the script's object raises, one written in C."""
    space: dict[str, Any] = {"__name__": f"samerun.{module}", "TimeUp": TimeUp}
    exec("def hook():\n    raise TimeUp\n", space)  # as PyThreadState_SetAsyncExc does
    with pytest.raises(TimeUp) as raised:
        space["hook"]()
    assert is_the_scripts(raised.value) is theirs


@pytest.mark.parametrize("act", [raising, lambda: int("x"), lambda: [].pop()])
def test_what_ours_or_a_method_that_it_calls_raises_is_not(act: Callable[[], Any]) -> None:
    with pytest.raises((TimeUp, ValueError, IndexError)) as raised:
        ours(act)
    assert not is_the_scripts(raised.value)


def test_an_error_of_ours_is_ours() -> None:
    space: dict[str, Any] = {"__name__": "samerun.recording.made_up"}
    exec(
        "import sys\ndef deep():\n    frame = sys._getframe(1)\n    return {}[1]\ndef hook():\n    deep()\n",
        space,
    )
    with pytest.raises(KeyError) as raised:
        space["hook"]()
    assert not is_the_scripts(raised.value)
    assert not is_the_scripts(ValueError("never raised"))
