"""Where a script changes the precision of float32 products while it trains."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from samerun.sources.patching.held_flags import Flag, wrap_setter
from samerun.sources.source import Journal, Source, Undo
from samerun.wrapping import undo_all, wrap_attribute

_FLAGS = (
    Flag("torch.backends.cudnn", "allow_tf32", "_set_cudnn_allow_tf32", True),
    Flag("torch.backends.cuda", "allow_tf32", "_set_cublas_allow_tf32", True),
)


def note(journal: Journal, source: Source) -> Undo:
    """Write what the source says of itself whenever a change makes that another."""
    import torch

    last = _describe(source)

    def change(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        nonlocal last
        result = original(*args, **kwargs)
        now = _describe(source)
        if now is not None and now != last:
            last = now
            journal.note("setting", source.id, detail=now)
        return result

    undos = [wrap_setter(flag, change) for flag in _FLAGS]
    return undo_all([*undos, wrap_attribute(torch, "set_float32_matmul_precision", change)])


def _describe(source: Source) -> str | None:
    """None where torch refuses to say: it lets no script mix the older ways to set this and the newer."""
    try:
        return json.dumps(source.describe(), sort_keys=True, default=str)
    except RuntimeError:
        return None
