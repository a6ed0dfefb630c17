"""Digests: 128 bits that stand for a value's type, shape and bytes, sensitive to the position of every bit.

Importing this package imports neither torch nor numpy; `digest_tensor` does, when it is first used.
Two algorithms are in use, and a trace names the one it was made with:

- `HOST_ALGORITHM`, for tensors in host memory and for everything that is not a tensor;
- `DEVICE_ALGORITHM`, for tensors on any other device, computed there.

A change of the bits that either gives for the same input is a new version of its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samerun.digest.keyed import DEVICE_ALGORITHM, HOST_ALGORITHM, algorithms, combine, digest_bytes
from samerun.digest.values import digest_value
from samerun.torch_version import require_torch

if TYPE_CHECKING:
    from samerun.digest.tensors import digest_tensor

__all__ = [
    "DEVICE_ALGORITHM",
    "HOST_ALGORITHM",
    "algorithms",
    "combine",
    "digest_bytes",
    "digest_tensor",
    "digest_value",
]


def __getattr__(name: str) -> object:
    if name == "digest_tensor":
        require_torch("samerun.digest_tensor")
        from samerun.digest.tensors import digest_tensor

        globals()[name] = digest_tensor  # later uses find it without this function
        return digest_tensor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
