"""Parameters that other code goes through in another order are the same parameters, by name."""

from __future__ import annotations

import json

import pytest

from samerun.comparing.compare_runs import compare
from samerun.digest import digest_bytes
from samerun.experiments.what_counts import weigh

from ..build import NAMES, Builder, Record, find, flip, record, training

ORDER = (2, 0, 1)
GROUPS = ("gradients", "parameters", "optimizer")


def of_code(code: str, *, reordered: bool = False, rows: list[Record] | None = None) -> list[Record]:
    """A training of some code, which may have the tensors of its optimizer in another order."""
    order = ORDER if reordered else range(len(NAMES))
    made = [record(0, "setup", "setting", "code", detail=f'{{"train.py": "{code}"}}', digest=None)]
    for row in rows or training():
        if row["what"] == "names":
            row = {**row, "detail": json.dumps([NAMES[at] for at in order])}
        elif row["what"] in GROUPS and row["name"] == "SGD" and row.get("parts"):
            parts = b"".join(row["parts"][16 * at : 16 * at + 16] for at in order)
            row = {**row, "parts": parts, "digest": digest_bytes(parts)}
        made.append(row)
    return made


def test_another_order_moves_no_bit_and_is_said(build: Builder) -> None:
    found = compare(build(of_code("a")), build(of_code("b", reordered=True)))
    assert found.verdict == "same"
    assert [note for note in found.notes if "the tensors of SGD in another order" in note]
    assert not compare(build(of_code("a")), build(of_code("b"))).notes


@pytest.mark.parametrize("what", GROUPS)
def test_one_bit_of_them_is_a_difference_with_its_name(build: Builder, what: str) -> None:
    rows = training()
    flip(rows[find(rows, what, 1, "optimizer")])  # the last part, fc.weight
    other = of_code("b", reordered=True, rows=rows)
    difference = compare(build(of_code("a")), build(other)).difference
    assert difference is not None
    assert (difference.step, difference.what, difference.name) == (1, what, "fc.weight")


def test_another_order_of_the_same_code_is_a_result(build: Builder) -> None:
    assert compare(build(of_code("a")), build(of_code("a", reordered=True))).verdict == "differs"


def test_tensors_that_changed_their_names_are_not_compared_by_them(build: Builder) -> None:
    swapped = of_code("b", reordered=True)
    for row in swapped:
        if row["what"] == "names":
            row["detail"] = json.dumps(["a", "b", "c"])
    assert compare(build(of_code("a")), build(swapped)).verdict == "differs"


def test_where_only_the_group_is_known_there_is_no_verdict(build: Builder) -> None:
    runs = []
    for code, reordered in (("a", False), ("b", True)):
        rows = of_code(code, reordered=reordered)
        del rows[find(rows, "parameters", 2, "optimizer")]["parts"]
        runs.append(build(rows))
    found = compare(*runs)
    assert found.verdict == "unknown"
    assert "from step 2 on not every record has them one by one" in str(found.reason)
    assert compare(*runs, steps=2).verdict == "same"


@pytest.mark.parametrize(
    ("code", "inputs", "verdict"), [("b", 7, "same"), ("a", 7, "differs"), ("b", 8, "differs")]
)
def test_what_was_saved_may_come_in_another_order_in_other_code(
    build: Builder, code: str, inputs: int, verdict: str
) -> None:
    mine, other = of_code("a"), of_code(code)
    for rows, number in ((mine, 7), (other, inputs)):
        for row in rows:
            if row["what"] == "saved":
                row["inputs"] = number
    flip(other[find(other, "saved", 1)])
    assert compare(build(mine), build(other)).verdict == verdict


TRAIN = """
import sys, torch
torch.set_num_threads(1)
torch.manual_seed(0)
how = sys.argv[1]
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.LayerNorm(3), torch.nn.Linear(3, 3))
named = dict(model.named_parameters())
groups = [
    {"params": [p for p in named.values() if p.ndim > 1]},
    {"params": [p for p in named.values() if p.ndim == 1], "weight_decay": 0.0 if how == "decay" else 0.1},
]
optimizer = torch.optim.AdamW(named.values() if how == "one" else groups, lr=0.1, weight_decay=0.1)
for step in range(3):
    model(torch.randn(2, 3)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
weights = model.state_dict()
if how == "swapped":
    weights["0.weight"], weights["2.weight"] = weights["2.weight"], weights["0.weight"]
pair = list(model.state_dict().values())[::5 if how != "listed" else -5]
torch.save({"model": weights, "optimizer": optimizer.state_dict(), "pair": pair}, "last.pt")
"""


@pytest.mark.slow
def test_an_optimizer_whose_parameters_are_split_trains_the_same(trainer) -> None:
    trainer.script(TRAIN)
    one, split, decay, swapped, listed = (
        trainer.record("train.py", how) for how in ("one", "split", "decay", "swapped", "listed")
    )
    (found,) = weigh((one, split), [compare(one, split)], recorded_apart=True)
    assert (found.verdict, found.unjudged) == ("same", ())
    difference = compare(one, decay).difference
    assert difference is not None and (difference.step, difference.what) == (0, "parameters")
    for other in (swapped, listed):  # weights under each other's names, and in each other's places of a list
        difference = compare(one, other).difference
        assert difference is not None and difference.what == "saved"
