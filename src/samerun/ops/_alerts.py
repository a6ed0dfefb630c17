"""torch's refusals that are spoken in Python, while a program is traced, before any kernel runs."""

from __future__ import annotations

from collections.abc import Callable

import torch._prims_common as common


def silenced(names: frozenset[str]) -> Callable[[], None]:
    """Refuse no more what is called by these names; return what puts the refusals back."""
    before = common.alert_not_deterministic

    def alert_not_deterministic(caller: str) -> None:
        if caller not in names:
            before(caller)

    common.alert_not_deterministic = alert_not_deterministic

    def undo() -> None:
        # Another's patch on top of this one is left alone: ours then lets everything through to torch's.
        nonlocal names
        names = frozenset()
        if common.alert_not_deterministic is alert_not_deterministic:
            common.alert_not_deterministic = before

    return undo
