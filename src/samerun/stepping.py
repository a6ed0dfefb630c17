"""Contexts around functions that do not run in one go: coroutines and generators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any

Make = Callable[[], AbstractContextManager[Any]]


def is_generator_function(function: Callable[..., Any]) -> bool:
    """Whether calling it makes a generator, asynchronous or not."""
    return any(
        check(each)
        for check in (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
        for each in (function, getattr(function, "__call__", None))  # noqa: B004  of an object
    )


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether what it returns is to be awaited."""
    call = getattr(function, "__call__", None)  # noqa: B004  of an object
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def run_inside(function: Callable[..., Any], make: Make) -> Any:
    """The function inside such a context, a coroutine function from its start to its end."""
    if is_coroutine_function(function):

        @functools.wraps(function)
        async def inside_awaited(*args: Any, **kwargs: Any) -> Any:
            with make():
                return await function(*args, **kwargs)

        return inside_awaited

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        with make():
            return function(*args, **kwargs)

    return inside


def step_by_step(function: Callable[..., Any], make: Make) -> Any:
    """The generator or coroutine function with one context for each call, entered while it runs alone."""
    if is_coroutine_function(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await _Steps(function(*args, **kwargs), make())

        return awaited

    @functools.wraps(function)
    def generated(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from _step(function(*args, **kwargs), make()))

    return generated


class _Steps:
    """A coroutine to be awaited, step by step."""

    def __init__(self, coroutine: Any, context: AbstractContextManager[Any]) -> None:
        self._coroutine = coroutine
        self._context = context

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from _step(self._coroutine.__await__(), self._context))


def _step(steps: Generator[Any, Any, Any], context: AbstractContextManager[Any]) -> Generator[Any, Any, Any]:
    resume: Callable[[Any], Any] = steps.send
    given: Any = None
    while True:
        try:
            with context:
                value = resume(given)
        except StopIteration as end:
            return end.value
        try:
            resume, given = steps.send, (yield value)
        except GeneratorExit:
            with context:
                steps.close()
            raise
        except BaseException as error:
            resume, given = steps.throw, error
