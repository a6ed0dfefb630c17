"""Clocks that are read by way of other modules: `uuid1`, and the time of asyncio's loops."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final

from samerun import callsite
from samerun.answers import Answers, find_direct_site
from samerun.sources.patching import attribute
from samerun.sources.patching.imported import Patches
from samerun.sources.patching.replayed_calls import Asked, replay_calls
from samerun.sources.source import Journal, Undo
from samerun.wrapping import Around

_BEFORE_1970: Final = 0x01B21DD213814000  # from 1582 on, in units of 100 ns: what a uuid counts
_SEQUENCE: Final = 0x2A5  # that tells uuids of one time apart: 14 bits, as good as any others
UUID = "uuid"
LOOP = "asyncio.base_events"


def observing(journal: Journal) -> Patches:
    """Note each read by the user's code."""

    def uuids() -> Undo:
        uuid = sys.modules[UUID]
        return attribute.undo_all(
            [
                attribute.patch_for_others(uuid, name, _make_whole_hook(journal, f"uuid.{name}"))
                for name in ("uuid1", "getnode")
            ]
        )

    return {UUID: uuids, LOOP: lambda: _patch_loop(_make_hook(journal, "loop.time"))}


def controlling() -> Patches:
    """Make each uuid1 of Python's clock, which is controlled, instead of the system's own generator.

    The time of a loop stays, since timers are set by it.
    """

    def uuid1(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args or kwargs or not callsite.is_called_directly():
            return original(*args, **kwargs)
        low, rest = (ticks := time.time_ns() // 100 + _BEFORE_1970) & 0xFFFFFFFF, ticks >> 32
        uuid = sys.modules[UUID]
        fields = low, rest & 0xFFFF, rest >> 16 & 0xFFF, *divmod(_SEQUENCE, 256), uuid.getnode()
        return uuid.UUID(fields=fields, version=1)

    return {UUID: lambda: attribute.patch_for_others(sys.modules[UUID], "uuid1", uuid1)}


def replaying(answers: Answers, source: str) -> Patches:
    """Give what uuid1 and getnode gave; the time of a loop comes as it is."""

    def uuids() -> Undo:
        uuid: Any = sys.modules[UUID]
        asked = [
            Asked(uuid, "uuid1", "uuid.uuid1", pack=int, unpack=lambda kept: uuid.UUID(int=kept)),
            Asked(uuid, "getnode", "uuid.getnode"),
        ]
        return replay_calls(answers, source, asked)

    def loop_time(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        site = find_direct_site()
        if site is not None:
            answers.part(source, "loop.time", site, "timers are set by it, so it is the time of now")
        return original(*args, **kwargs)

    return {UUID: uuids, LOOP: lambda: _patch_loop(loop_time)}


def _patch_loop(hook: Around) -> Undo:
    return attribute.patch_for_others(sys.modules[LOOP].BaseEventLoop, "time", hook)


def _make_whole_hook(journal: Journal, name: str) -> Around:
    """As `_make_hook`, of one that may be written in Python: what it reads itself is no read of the user's.

    Where the system has no libuuid, `uuid1` asks `time.time_ns` and `getnode`.
    """

    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        journal.note("clock", name, user_only=True)
        with journal.unheard():
            return original(*args, **kwargs)

    return call


def _make_hook(journal: Journal, name: str) -> Around:
    def call(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        journal.note("clock", name, user_only=True)
        return original(*args, **kwargs)

    return call
