"""torch's refusals that are spoken in Python, while a program is traced, before any kernel runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch._prims_common as common

from samerun.wrapping import Parameter, wrap_attribute


def silence_refusals(names: frozenset[str]) -> Callable[[], None]:
    """Refuse no more what is called by these names; return what puts the refusals back."""
    caller = Parameter("caller", 0)

    def alert(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return None if caller.of(args, kwargs) in names else original(*args, **kwargs)

    return wrap_attribute(common, "alert_not_deterministic", alert)
