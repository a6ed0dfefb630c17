"""Functions whose answers are kept, and given again to a later run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from samerun.answers import Answers, find_direct_site
from samerun.sources.patching import attribute
from samerun.sources.source import Undo

_LONGEST = 120  # letters of the arguments in the name of an answer


def _is_plain_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return not args and not kwargs


@dataclass(frozen=True)
class Asked:
    """A function that is asked for something that may be another in each run."""

    owner: Any
    name: str  # of the attribute
    shown: str  # "time.time"
    find_site: Callable[[], str | None] = find_direct_site  # None: this call is left alone
    counts: Callable[[tuple[Any, ...], dict[str, Any]], bool] = _is_plain_call
    pack: Callable[[Any], Any] = lambda value: value  # to plain values
    unpack: Callable[[Any], Any] = lambda value: value


def replay_calls(answers: Answers, source: str, functions: list[Asked]) -> Undo:
    """Keep what they give to the user's lines, and give it again where a recorded run is replayed."""

    def patch(asked: Asked) -> Undo:
        def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not asked.counts(args, kwargs) or (site := asked.find_site()) is None:
                return original(*args, **kwargs)
            name = name_call(asked.shown, args, kwargs)
            kept = answers.ask(source, name, lambda: asked.pack(original(*args, **kwargs)), site)
            return asked.unpack(kept)

        return attribute.patch_for_others(asked.owner, asked.name, call)

    return attribute.undo_all([patch(asked) for asked in functions])


def name_call(shown: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The name of an answer: the function's, with what it was given."""
    if not args and not kwargs:
        return shown
    given = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return f"{shown}({', '.join(given)[:_LONGEST]})"
