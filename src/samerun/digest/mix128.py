"""mix128: 128 bits from one pass over a tensor's words in any order; here in torch operations.

The bytes are 64-bit little-endian words w at positions i, the last one padded with zeros. Each word is mixed
with its position by functions that are one-to-one in the word, and two lanes sum the results modulo 2**64:

    p = i * GOLDEN + seed;  p = (p ^ p >> 32) * P;  p = p ^ p >> 29
    lane A += mix(w ^ p; 33, A1, 33, A2, 33)            the finaliser of MurmurHash3
    lane B += mix(w + swap(p); 30, B1, 27, B2, 31)      Stafford's variant 13, as in SplitMix64
    mix(x; a, m, b, n, c):  x = (x ^ x >> a) * m;  x = (x ^ x >> b) * n;  x ^ x >> c

where swap exchanges the halves of p and all arithmetic is modulo 2**64 with logical shifts. Integer sums are
exact, so atomic additions in any order give the same lanes; a change of one word changes both lanes, always.
The seed stands for the dtype and the shape. `samerun.digest.mix128_triton` computes the same lanes.
"""

from __future__ import annotations

import struct

import torch
from xxhash import xxh3_128_digest

from samerun.digest.host import view_as_bits

GOLDEN = 0x9E3779B97F4A7C15
P = 0xD6E8FEB86659FD93
A1, A2 = 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53
B1, B2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

_CHUNK = 1 << 20  # words at a time, so that the temporaries stay at some tens of megabytes


def read_signed(x: int) -> int:
    """The 64 bits of an unsigned integer, read as a signed one."""
    return x - (1 << 64) if x >> 63 else x


def compute_lanes(t: torch.Tensor, seed: int) -> torch.Tensor:
    """Lanes A and B of a dense tensor, as int64[2] on its device."""
    bits = view_as_bits(t)
    data = bits.as_strided((bits.numel(),), (1,)).view(torch.uint8)  # a size of 1 may have any stride
    total = torch.zeros(2, dtype=torch.int64, device=t.device)
    for start in range(0, data.numel(), 8 * _CHUNK):
        words = _read_words(data[start : start + 8 * _CHUNK])
        total += _compute_lanes_of(words, start // 8, seed)
    return total


def finalise(a: int, b: int, seed: int) -> bytes:
    """The 16-byte digest of signed lanes A and B."""
    return xxh3_128_digest(struct.pack("<qq", a, b), seed)


def _read_words(data: torch.Tensor) -> torch.Tensor:
    """Bytes as int64 words, the last one padded with zeros; a copy unless length and offset allow a view."""
    if data.numel() % 8 or data.storage_offset() % 8:
        padded = torch.zeros((data.numel() + 7) // 8 * 8, dtype=torch.uint8, device=data.device)
        padded[: data.numel()] = data
        data = padded
    return data.view(torch.int64)


def _compute_lanes_of(words: torch.Tensor, first: int, seed: int) -> torch.Tensor:
    p = torch.arange(first, first + words.numel(), dtype=torch.int64, device=words.device)
    p = p * read_signed(GOLDEN) + read_signed(seed)
    p = _fold(_fold(p, 32) * read_signed(P), 29)
    swapped = (p << 32) | _shift(p, 32)
    a = _fold(_fold(_fold(words ^ p, 33) * read_signed(A1), 33) * read_signed(A2), 33)
    b = _fold(_fold(_fold(words + swapped, 30) * read_signed(B1), 27) * read_signed(B2), 31)
    return torch.stack([a.sum(), b.sum()])


def _fold(x: torch.Tensor, by: int) -> torch.Tensor:
    return x ^ _shift(x, by)


def _shift(x: torch.Tensor, by: int) -> torch.Tensor:
    """Logical shift right; torch's own copies the sign."""
    return (x >> by) & ((1 << (64 - by)) - 1)
