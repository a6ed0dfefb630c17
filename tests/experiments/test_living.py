"""Runs that agree because they no longer train prove nothing."""

from __future__ import annotations

import math

import pytest

from samerun.comparing.comparison import Comparison, Scope
from samerun.experiments.living import explain_lifeless, require_living

MOVING = {0: (1.0,), 1: (0.5,), 2: (0.25,), 3: (0.1,)}
OTHER = {0: (1.1,), 1: (0.4,), 2: (0.2,), 3: (0.3,)}
FLAT = {step: (1.0,) for step in range(4)}
NAN = {**MOVING, 2: (math.nan,)}


@pytest.mark.parametrize(
    ("tried", "plain", "said"),
    [
        (MOVING, [OTHER, OTHER], None),
        (FLAT, [OTHER, OTHER], "no longer moves"),
        (FLAT, [OTHER, FLAT], "no longer moves"),  # what spoils some runs must not become the rule
        (FLAT, [FLAT, FLAT], None),
        ({0: (1.0,), 1: (1.0,)}, [OTHER, OTHER], None),  # too few
        (NAN, [OTHER, OTHER], "nan at step 2"),
        (NAN, [NAN, OTHER], "nan at step 2"),
        (NAN, [NAN, NAN], None),
        ({**MOVING, 1: (math.inf,)}, [OTHER], "inf at step 1"),
        ({0: (0.3, math.nan)}, [{0: (0.1, 0.2)}], "nan at step 0"),
        (FLAT, [], None),
        ({}, [OTHER], None),
        ({**MOVING, 7: (math.nan,)}, [OTHER], None),  # a step that the others did not make
    ],
)
def test_what_is_lost(tried, plain, said) -> None:
    found = explain_lifeless(tried, plain)
    assert found is None if said is None else said in found


def test_only_a_same_is_taken_back() -> None:
    scope = Scope(("a", "b"))
    dead = Comparison("same", scope, None, losses=(FLAT, FLAT))
    assert require_living(dead, [OTHER, OTHER]).verdict == "unknown"
    assert require_living(Comparison("same", scope, None, losses=(MOVING, MOVING)), [OTHER]).verdict == "same"
    differs = Comparison("differs", scope, None, losses=(FLAT, FLAT))
    assert require_living(differs, [OTHER]) is differs
