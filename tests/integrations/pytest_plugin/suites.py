"""Suites of a user, to be run by pytest in a process of its own."""

from __future__ import annotations

PLAIN = """
import random, unittest
import pytest

@pytest.fixture(scope="class")
def seeded():
    random.seed(3)
    yield
    random.seed()

class TestSeeded:
    def test_draws_the_same(self, seeded):
        assert 0 <= random.random() < 1

    @pytest.mark.parametrize("x", ["a", "b::c"])
    def test_draws_nothing(self, seeded, x): ...

class TestUnit(unittest.TestCase):
    def test_draws(self):
        self.assertGreaterEqual(random.random(), 0)

def test_fails():
    assert 1 == 2

@pytest.mark.skip(reason="not here")
def test_is_skipped(): ...
"""

MARKED = """
import os, random
import pytest

@pytest.fixture(scope="module", autouse=True)
def begun():
    print("begun in", os.getpid())
    yield

def test_before():
    pass

@pytest.mark.samerun
def test_controlled():
    random.random()

@pytest.mark.samerun(runs=2, controlled=False)
def test_left_alone():
    random.random()

def test_after():
    pass
"""
