"""Contexts around coroutines and generators."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from samerun.stepping import is_coroutine_function, is_generator_function, run_inside, step_by_step


def noting(notes: list[str]) -> Callable[[], AbstractContextManager[None]]:
    @contextmanager
    def made() -> Iterator[None]:
        notes.append("in")
        try:
            yield
        finally:
            notes.append("out")

    class Again:
        """Entered anew for each step."""

        def __enter__(self) -> None:
            self._one = made()
            self._one.__enter__()

        def __exit__(self, *error: object) -> None:
            self._one.__exit__(None, None, None)

    return Again


def test_what_kinds_of_functions_there_are() -> None:
    def plain() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def agenerator() -> AsyncIterator[int]:
        yield 1

    async def coroutine() -> None: ...

    class Called:
        async def __call__(self) -> None: ...

    every = (plain, generator, agenerator, coroutine, Called())
    assert [is_generator_function(each) for each in every] == [False, True, True, False, False]
    assert [is_coroutine_function(each) for each in every] == [False, False, False, True, True]


def test_a_coroutine_is_inside_from_start_to_end() -> None:
    notes: list[str] = []

    async def work() -> int:
        notes.append("first")
        await asyncio.sleep(0)
        notes.append("second")
        return 3

    assert asyncio.run(run_inside(work, noting(notes))()) == 3
    assert notes == ["in", "first", "second", "out"]
    assert run_inside(lambda: notes.append("plain"), noting(notes))() is None
    assert notes[4:] == ["in", "plain", "out"]


def test_a_generator_is_inside_only_while_it_runs() -> None:
    notes: list[str] = []

    def work() -> Iterator[int]:
        try:
            given = yield 1
            notes.append(given)
            yield 2
        finally:
            notes.append("end")

    steps = step_by_step(work, noting(notes))()
    assert (next(steps), notes) == (1, ["in", "out"])
    notes.append("between")
    assert (steps.send("given"), notes[2:]) == (2, ["between", "in", "given", "out"])
    steps.close()
    assert notes[6:] == ["in", "end", "out"]


def test_an_exception_reaches_the_generator() -> None:
    notes: list[str] = []

    def work() -> Iterator[int]:
        with pytest.raises(KeyError):
            yield 1
        yield 2

    steps = step_by_step(work, noting(notes))()
    next(steps)
    assert steps.throw(KeyError("x")) == 2


def test_a_coroutine_step_by_step() -> None:
    notes: list[str] = []

    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert asyncio.run(step_by_step(work, noting(notes))()) == "done"
    assert notes == ["in", "out"] * 2
