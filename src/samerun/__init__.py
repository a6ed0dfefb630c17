"""samerun: run it twice, get the same bits.

The public names are loaded when they are first used; `import samerun` imports neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samerun.control import control, isolate_rng, seed_everything
    from samerun.digest import digest_tensor, digest_value
    from samerun.errors import DigestError, SamerunError, TooLate, UsageError
    from samerun.ranks import rank, world_size
    from samerun.streams import Stream, stream, stream_seed

    __version__: str

__all__ = [
    "DigestError",
    "SamerunError",
    "Stream",
    "TooLate",
    "UsageError",
    "__version__",
    "control",
    "digest_tensor",
    "digest_value",
    "isolate_rng",
    "rank",
    "seed_everything",
    "stream",
    "stream_seed",
    "world_size",
]

_HOMES = {
    "DigestError": "errors",
    "SamerunError": "errors",
    "Stream": "streams",
    "TooLate": "errors",
    "UsageError": "errors",
    "digest_tensor": "digest",
    "digest_value": "digest",
    "isolate_rng": "control",
    "rank": "ranks",
    "seed_everything": "control",
    "stream": "streams",
    "stream_seed": "streams",
    "world_size": "ranks",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("samerun")
    if name == "control":  # the module, which is called as the class
        return importlib.import_module(f"{__name__}.control")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
