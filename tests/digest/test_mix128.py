from __future__ import annotations

import pytest
import torch

from samerun.digest import mix128
from samerun.digest.keyed import seed_of
from samerun.digest.mix128 import compute_lanes, finalise, read_signed

MASK = (1 << 64) - 1


def reference(data: bytes, seed: int) -> list[int]:
    """The definition in mix128's docstring, one word at a time, in Python integers."""

    def fold(x: int, by: int) -> int:
        return x ^ x >> by

    def mix(x: int, a: int, m: int, b: int, n: int, c: int) -> int:
        return fold(fold(fold(x, a) * m & MASK, b) * n & MASK, c)

    a = b = 0
    for i in range(-(-len(data) // 8)):
        w = int.from_bytes(data[8 * i : 8 * i + 8], "little")
        p = (i * 0x9E3779B97F4A7C15 + seed) & MASK
        p = fold(fold(p, 32) * 0xD6E8FEB86659FD93 & MASK, 29)
        a += mix(w ^ p, 33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33)
        b += mix((w + (p << 32 | p >> 32)) & MASK, 30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31)
    return [read_signed(a & MASK), read_signed(b & MASK)]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 63, 64, 65, 1000])
@pytest.mark.parametrize("seed", [0, 1, MASK, 0x8000000000000000, 0x123456789ABCDEF0])
def test_lanes_are_as_defined(n, seed):
    data = torch.randint(0, 256, (n,), dtype=torch.uint8, generator=torch.Generator().manual_seed(n))
    assert compute_lanes(data, seed).tolist() == reference(data.numpy().tobytes(), seed)


def test_chunks_do_not_show(monkeypatch):
    data = torch.arange(1003, dtype=torch.uint8)
    whole = compute_lanes(data, 5)
    monkeypatch.setattr(mix128, "_CHUNK", 10)
    assert torch.equal(compute_lanes(data, 5), whole)
    assert torch.equal(compute_lanes(torch.cat([data[:3], data])[3:], 5), whole)


def test_both_lanes_and_the_seed_reach_the_digest():
    seeds = (seed_of("torch.float32(2,)"), seed_of("torch.float32(3,)"))
    digests = {finalise(a, b, seed) for a in (0, 1, -1) for b in (0, 1, -1) for seed in seeds}
    assert len(digests) == 18


def test_one_changed_word_changes_both_lanes():
    base = torch.arange(50)
    before = compute_lanes(base, 9)
    for i in range(50):
        changed = base.clone()
        changed[i] ^= -(2**63)
        assert not (compute_lanes(changed, 9) == before).any()
