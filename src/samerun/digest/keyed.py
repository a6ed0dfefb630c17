"""Keyed digests of bytes: xxh3_128, seeded with the xxh3_64 of a key.

The key says what the bytes are (a dtype and a shape, a type's name), so that equal bytes that mean
different things have different digests. xxh3: https://github.com/Cyan4973/xxHash.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from xxhash import xxh3_64_intdigest, xxh3_128_digest

HOST_ALGORITHM = "xxh3-128/1"
DEVICE_ALGORITHM = "mix128/1"


def algorithms() -> dict[str, str]:
    """Which algorithm digests the tensors of each type of device."""
    return {"cpu": HOST_ALGORITHM, "cuda": DEVICE_ALGORITHM, "mps": DEVICE_ALGORITHM, "xpu": DEVICE_ALGORITHM}


@lru_cache(maxsize=16384)
def seed_of(key: str) -> int:
    """The 64-bit seed that stands for `key`."""
    return xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))


def make_tensor_key(dtype: object, shape: Iterable[int]) -> str:
    """The key of a dense tensor, such as "torch.float32(2, 3)"."""
    return f"{dtype}{tuple(shape)}"


@lru_cache(maxsize=16384)
def make_tensor_seed(dtype: object, shape: tuple[int, ...]) -> int:
    """The seed of a dense tensor's digest."""
    return seed_of(make_tensor_key(dtype, shape))


def digest_bytes(data: bytes | bytearray | memoryview, key: str = "") -> bytes:
    """16 bytes that stand for `data` (any C-contiguous buffer) under `key`."""
    return xxh3_128_digest(data, seed_of(key))


def combine(digests: Iterable[bytes], key: str = "") -> bytes:
    """16 bytes that stand for a sequence of 16-byte digests; another order gives another result."""
    return xxh3_128_digest(b"".join(digests), seed_of(key))
