"""Texts with the address of an object in them, that a number is made of."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
import zlib

import pytest

from samerun.runs.difference import Strength
from samerun.sources.memory_address import MemoryAddress

from ..differences import ONE, TWO, operation, origin, row, side, weights

source = MemoryAddress()


class Config:
    def __init__(self) -> None:
        self.act = len


@pytest.mark.parametrize(
    ("hash_it", "what"),
    [
        (
            lambda: hashlib.md5(repr({"f": test_other_sources_come_first}).encode()).hexdigest(),
            "function test_",
        ),
        (lambda: zlib.crc32(str(Config()).encode()), "Config object"),
        (lambda: hashlib.sha256(f"{Config()}".encode()).digest(), "Config object"),
        (lambda: hashlib.md5(repr({"f": len}).encode()).hexdigest(), None),
        (lambda: zlib.crc32(b"of bytes at 0x without any"), None),
        (lambda: hashlib.md5().hexdigest(), None),
    ],
)
def test_what_is_hashed_with_an_address_in_it_is_noted(hash_it, what, observed) -> None:
    before = hash_it()
    notes = observed(source)
    assert isinstance(hash_it(), type(before))
    found = notes.of("address")
    assert (what is None) == (not found)
    assert what is None or (what in found[0].detail and "0x" not in found[0].detail)


@pytest.mark.parametrize("function", ["md5", "sha256", "sha512", "blake2b"])
def test_hashlib_is_as_ever_while_it_is_observed(function, observed) -> None:
    """Its functions are pickled by a name that is not the one in hashlib, and some are classes."""
    before = getattr(hashlib, function)
    name, module, signed = before.__name__, before.__module__, hmac.new(b"k", b"m", before).hexdigest()
    observed(source)
    now = getattr(hashlib, function)
    assert pickle.loads(pickle.dumps(now)) is now and copy.deepcopy(now) is now
    assert (now.__name__, now.__module__) == (name, module) and isinstance(now, type) is isinstance(
        before, type
    )
    assert hmac.new(b"k", b"m", now).hexdigest() == signed
    assert now(b"x", usedforsecurity=False).digest() == before(b"x").digest()


def differing_texts(seeds: tuple[bytes, bytes] = (ONE, TWO), **columns):
    sides = [
        side(
            row("address", "hashlib.md5", call_site="config.py:8", digest=text, detail="function relu"),
            row("seed", "torch.manual_seed", call_site="train.py:5", digest=seed),
        )
        for text, seed in zip((ONE, TWO), seeds, strict=True)
    ]
    return dict(a=sides[0], b=sides[1], **columns)


def test_a_seed_that_differs_was_made_of_it() -> None:
    found = source.recognise(weights(**differing_texts()))
    assert found is not None
    assert (found.strength, found.call_site) == (Strength.STRONG, "config.py:8")
    assert "<function relu at 0x…>" in found.text


def test_other_sources_come_first() -> None:
    """A text that was hashed for the name of a run, say, while a generator that nobody seeded differs."""
    drawn = dict(rng_first={"torch-cpu": 0}, drawn=frozenset({"torch-cpu"}))
    assert source.recognise(weights(**differing_texts(seeds=(ONE, ONE)), **drawn)) is None
    assert source.recognise(operation(**differing_texts(), origin=origin())) is None
