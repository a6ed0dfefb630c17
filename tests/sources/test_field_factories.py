"""The field whose `default_factory` is called where an object is made; covers `edits/field_factories.py`."""

from __future__ import annotations

import pytest

from samerun.explaining.explain import explain
from samerun.runs.difference import Row

from .mending import Program

CONFIG = """
import dataclasses, time
import numpy as np
from dataclasses import dataclass, field

@dataclass
class Jitter:
    sigma: float = 0.1
    source: object = field(default_factory={factory})

@dataclass
class Config:
    tags: set = field(default_factory=set)
    jitter: Jitter = field(default_factory=Jitter)

def make():
    return np.random.default_rng()

cfg = Config()
rng = make()
both = (Config(), np.random.default_rng())
"""


def find_line(folder, factory, words):
    program = Program(folder, CONFIG.format(factory=factory))
    row = Row(0, "setup", "unseeded", "numpy-generator", call_site=program.at(words))
    found = explain(program.difference(row))[0]
    (best,) = (item for item in found if item.source == "numpy-generator")
    return program, best.call_site


@pytest.mark.parametrize("factory", ["np.random.default_rng", "np.random.RandomState"])
def test_the_cause_is_at_the_field(tmp_path, factory):
    program, site = find_line(tmp_path, factory, "cfg = Config()")
    assert site == program.at("source: object")


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        ("time.time", "cfg = Config()"),  # another source's
        ("np.random.default_rng", "both ="),  # the line makes one itself
        ("np.random.default_rng", "rng = make()"),  # no object with a field
    ],
)
def test_the_line_stays_where_no_field_made_it(tmp_path, factory, words):
    program, site = find_line(tmp_path, factory, words)
    assert site == program.at(words)
