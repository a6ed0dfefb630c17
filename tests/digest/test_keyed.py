from __future__ import annotations

import subprocess
import sys

import pytest

from samerun.digest import DEVICE_ALGORITHM, HOST_ALGORITHM, algorithms, combine, digest_bytes

BROKEN = "this value is pinned: a change needs a new version in the algorithm's name"


def test_pinned():
    assert digest_bytes(b"").hex() == "7a3edd697cf3f9535310e30cce3262d6", BROKEN
    assert digest_bytes(b"samerun", "a key").hex() == "62efa3ebba88d0180782691f01e41851", BROKEN
    assert combine([b"\0" * 16, b"\1" * 16], "pair").hex() == "67b16f8b7e70cfec7acbd29d2e2b6d01", BROKEN
    assert (HOST_ALGORITHM, DEVICE_ALGORITHM) == ("xxh3-128/1", "mix128/1")


def test_key_and_bytes_both_count():
    digests = {digest_bytes(data, key) for data in (b"", b"a", b"b") for key in ("", "a", "b")}
    assert len(digests) == 9


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_any_buffer(make):
    assert digest_bytes(make(b"12345678"), "k") == digest_bytes(b"12345678", "k")


def test_combine_is_sensitive_to_order_and_number():
    a, b = digest_bytes(b"a"), digest_bytes(b"b")
    assert len({combine(x) for x in ([], [a], [b], [a, b], [b, a], [a, a], [a, a, a])}) == 7


def test_algorithms_by_device():
    assert algorithms()["cpu"] == HOST_ALGORITHM
    assert algorithms()["cuda"] == DEVICE_ALGORITHM


def test_importing_needs_neither_torch_nor_numpy():
    code = (
        "import sys, samerun.digest as d\n"
        "d.digest_value([1, ('a', {2.0: None})]); d.combine([d.digest_bytes(b'')])\n"
        "assert not {'torch', 'numpy'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_exported_names():
    import samerun.digest as package

    assert all(callable(getattr(package, name)) or name.endswith("ALGORITHM") for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'digets'"):
        _ = package.digets
