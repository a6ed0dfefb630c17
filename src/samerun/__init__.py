"""samerun: run it twice, get the same bits.

The public names are loaded when they are first used; `import samerun` imports neither torch nor numpy.

PYTEST_DONT_REWRITE: pytest rewrites the modules of its plugins, and warns where one is there before it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samerun.controls import control, isolate_rng, seed_everything
    from samerun.digest import digest_tensor, digest_value
    from samerun.errors import DigestError, RanksDisagree, SamerunError, StateError, TooLate, UsageError
    from samerun.ranks import check_agree, rank, rank_stream, sync_seed, world_size
    from samerun.streams import Stream, stream, stream_seed

    __version__: str

__all__ = [
    "DigestError",
    "RanksDisagree",
    "SamerunError",
    "StateError",
    "Stream",
    "TooLate",
    "UsageError",
    "__version__",
    "check_agree",
    "control",
    "digest_tensor",
    "digest_value",
    "isolate_rng",
    "rank",
    "rank_stream",
    "seed_everything",
    "stream",
    "stream_seed",
    "sync_seed",
    "world_size",
]

_HOMES = {
    "DigestError": "errors",
    "RanksDisagree": "errors",
    "SamerunError": "errors",
    "StateError": "errors",
    "Stream": "streams",
    "TooLate": "errors",
    "UsageError": "errors",
    "check_agree": "ranks",
    "control": "controls",
    "digest_tensor": "digest",
    "digest_value": "digest",
    "isolate_rng": "controls",
    "load_ipython_extension": "integrations.ipython",  # %load_ext samerun
    "rank": "ranks",
    "rank_stream": "ranks",
    "seed_everything": "controls",
    "stream": "streams",
    "stream_seed": "streams",
    "sync_seed": "ranks",
    "world_size": "ranks",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("samerun")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
