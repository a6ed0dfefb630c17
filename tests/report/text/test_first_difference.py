from __future__ import annotations

from dataclasses import replace

import pytest

from samerun.report.text.first_difference import list_facts
from samerun.runs.difference import Difference, Gap, LaterDifference, Origin

ORIGIN = Origin("aten.mm.default", "Net", "b.py:15", "forward", False, False, None, False, False)
DIFFERENCE = Difference(3, "forward", "operation", op="aten.mm.default", call_site="b.py:15", origin=ORIGIN)
GAP = Gap("aten.mm.default", "b.py:15", "SGD.step", "a.py:12", tensor="fc.weight")


def said(difference: Difference, name: str) -> str | None:
    return dict(list_facts(difference, None)).get(name)


def test_memory_written_past_torch_is_told_between_two_lines():
    assert said(DIFFERENCE, "memory") is None
    assert said(replace(DIFFERENCE, gap=GAP), "memory") == (
        "the memory of fc.weight was written past torch between a.py:12 (SGD.step) and b.py:15 "
        "(aten.mm.default) (by NumPy, a pointer, an extension or another thread)"
    )
    unknown = replace(GAP, tensor=None, seen_by=None, run="b")
    assert said(replace(DIFFERENCE, gap=unknown), "memory") == (
        "the memory of a tensor was written past torch before b.py:15 (aten.mm.default), in run B only "
        "(by NumPy, a pointer, an extension or another thread)"
    )


def test_what_parts_later_for_a_reason_of_its_own():
    assert said(DIFFERENCE, "later") is None
    more = LaterDifference("rng", 3, "forward", "aten.bernoulli_.float", "Net", "c.py:9")
    assert said(replace(DIFFERENCE, further=(more, replace(more, kind="flow"))), "later") == (
        "a second one, not caused by it, starts at step 3, at c.py:9 (aten.bernoulli_.float): "
        "it draws from a generator whose state differs, and 1 more"
    )
    assert said(replace(DIFFERENCE, further=(replace(more, kind="flow"), more)), "later") == (
        "from step 3 on the runs take different paths, perhaps because of it: "
        "only one of them has c.py:9 (aten.bernoulli_.float), and 1 more"
    )


@pytest.mark.parametrize(
    ("differs", "text"),
    [
        (True, "equal inputs, different outputs; it draws from a generator whose state differs"),
        (None, "equal inputs, different outputs; it draws from a generator whose state is not known"),
        (
            False,
            "it draws from a generator in the same state, but another number of values, or in other limits",
        ),
    ],
)
def test_a_draw_of_another_size_is_not_said_to_have_equal_inputs(differs: bool | None, text: str) -> None:
    drawn = Origin("aten.uniform_.default", None, "a.py:1", "setup", True, True, differs, False, False)
    found = replace(DIFFERENCE, what="operation", origin=drawn, gap=None)
    assert ("", text) in list_facts(found, None)


def test_only_a_batch_is_said_to_have_other_content():
    output = Difference(0, "forward", "output", indices_equal=True)
    assert said(output, "samples") == "the same sample indices in both runs"
    assert "the samples' content differs" in (said(replace(output, what="batch"), "samples") or "")
