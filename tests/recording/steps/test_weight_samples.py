"""Samples of the weights: when, how many, which; and no bit moves."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from trainer import Trainer

from samerun.comparing.growth import measure_growth
from samerun.recording.trace.sampled_steps import is_sampled

SCRIPT = """
import sys, torch, torch.nn.functional as F
from torch import nn
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(400, 300), nn.ReLU(), nn.Linear(300, 4))
half = nn.Linear(4, 4).bfloat16()
weights = [*model.parameters(), *half.parameters()]
for step in range(20):
    x, y = torch.randn(8, 400), torch.randint(4, (8,))
    loss = F.cross_entropy(half(model(x).bfloat16()).float(), y)
    if step == 5 and "flip" in sys.argv:
        model[0].weight.data.view(torch.int32).add_(1)  # one ulp, of every element
    loss.backward()
    for p in weights: p.data, p.grad = p.data - 0.1 * p.grad, None  # by hand: no import of torch's compiler
    if step == 16: torch.save([p.detach() for p in model.parameters()], "16.pt")
    if step == 5:
        with torch.no_grad(): model(x + ("once" in sys.argv))  # an evaluation leaves nothing behind
torch.save([model.state_dict(), half.state_dict()], "weights.pt")
"""
WEIGHTS = 400 * 300 + 300 + 300 * 4 + 4


def test_the_steps_are_the_first_and_then_ever_rarer():
    steps = [step for step in range(3000) if is_sampled(step)]
    assert steps[:14] == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 22, 32, 45]
    assert all(1.35 < b / a < 1.46 for a, b in itertools.pairwise(steps[9:]))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    trainer = Trainer(tmp_path_factory.mktemp("values"))
    trainer.script(SCRIPT)
    found = {}
    for name, words in {"good": [], "bad": ["flip"], "once": ["once"]}.items():
        found[name] = trainer.record("train.py", *words, values=True, tier="ops", window=(13, 14))
        assert found[name].manifest.outcome == "finished", (found[name].path / "output.txt").read_text()
        if name == "good":
            weights = torch.load(trainer.folder / "weights.pt")
    return trainer, found, weights


def test_one_row_for_each_dtype_in_each_step_that_is_due(runs):
    trainer, found, _ = runs
    rows = trainer.rows(found["good"], "values")
    assert sorted({row.step for row in rows}) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 14, 16]
    said = [json.loads(row.detail) for row in rows if row.step == 8]
    assert [item["dtype"] for item in said] == ["float32", "bfloat16"]
    assert [item["of"] for item in said] == [WEIGHTS, 20]
    assert sum(item["elements"] for item in said) == 65_536


def test_the_elements_are_those_of_the_weights_all_over(runs):
    trainer, found, _ = runs
    trace = found["good"].traces()["rank0"]
    at = int(np.flatnonzero(trace.is_one_of("what", {"values"}) & (trace.steps == 16))[0])
    sampled = np.frombuffer(trace.cell("parts", at), "<f4").tolist()
    every = np.concatenate([p.numpy().reshape(-1) for p in torch.load(trainer.folder / "16.pt")]).tolist()
    places, start = [], 0
    for value in sampled:  # raises ValueError for one that does not come after the one before
        places.append(every.index(value, start))
        start = places[-1] + 1
    assert max(b - a for a, b in itertools.pairwise([0, *places, len(every)])) <= 4
    assert len({b - a for a, b in itertools.pairwise(places)}) > 1  # at no regular distance


def test_how_far_one_ulp_goes(runs):
    _, found, _ = runs
    grown = measure_growth(found["good"], found["bad"])
    assert (grown.reached_weights_at, grown.alive, grown.healed_at) == (5, True, None)
    first = grown.distances[0]
    assert (first.step, first.sampled, first.of) == (5, 65_536, WEIGHTS + 20)
    assert first.differing >= 1
    assert first.elements > 30_000
    assert first.median_ulps <= 2
    assert [item.step for item in grown.distances] == list(range(5, 20))
    assert [item.step for item in grown.distances if item.largest_ulps] == [5, 6, 7, 8, 11, 13, 14, 16]


def test_a_difference_that_heals(runs):
    _, found, _ = runs
    grown = measure_growth(found["good"], found["once"])
    assert (grown.reached_weights_at, grown.alive, grown.healed_at) == (None, False, 6)


def test_no_bit_moves(runs):
    trainer, _, weights = runs
    subprocess.run([sys.executable, "train.py"], cwd=trainer.folder, check=True, timeout=120)
    plain = torch.load(trainer.folder / "weights.pt")
    for one, other in zip(plain, weights, strict=True):
        for name, value in one.items():
            assert torch.equal(value.view(torch.int16), other[name].view(torch.int16)), name
