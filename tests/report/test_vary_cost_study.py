"""What `vary`, `cost` and `study` print, made from results by hand.

Covers `console.py`, `text/cost.py`, `text/study.py` and `text/vary.py`.
"""

from __future__ import annotations

import io
from typing import Any

from samerun.experiments.cost.pricing import Ratio
from samerun.experiments.cost.result import Choice, CostResult, Price
from samerun.experiments.vary.result import Effect, VaryResult
from samerun.report.console import make_console
from samerun.report.text import cost, study, vary

from .experiments import RUNS, VARIED, studied


def printed(module: Any, result: Any) -> str:
    out = io.StringIO()
    to = make_console(out)
    to.width = 200
    module.show(result, to)
    return out.getvalue()


def test_a_dependence_comes_first_with_where_and_how_much() -> None:
    text = printed(vary, VARIED)
    assert "✗ differs — the result depends on threads, locale + user together (under mode strict)" in text
    assert "step 3, backward: aten.convolution_backward (train.py:7); loss by 12 ulps at step 3, 0.12" in text
    assert "runs with it differ from each other too" in text
    assert text.index("1 thread") < text.index("host name x")
    assert "not in play" in text
    assert "Not tried: compile (compiled)" in text


def test_a_command_line_from_a_stranger_cannot_move_the_cursor() -> None:
    effect = Effect("user", "user \x1b[2J", "unknown", RUNS, reason="it said \x1b]0;x\x07")
    result = VaryResult("unknown", RUNS, (), "", effects=(effect,), reason="\x1b[31m")
    assert "\x1b" not in printed(vary, result)


def test_prices_and_choices() -> None:
    price = Price("threads", "control: one thread", Ratio(1.5, 1.4, 1.6), (1.5, 1.4), buys="independence")
    noise = Price("nothing", "noise", Ratio(1.01, 0.97, 1.05), (1.0,))
    failed = Price("tier ops", "recording", None, (), reason="the command fails with it")
    choice = Choice("cheapest", "samerun run --mode seeded", "same", 3, Ratio(1.0, 0.9, 1.1))
    result = CostResult("same", ("python",), 5, (noise, price, failed), (choice,), 0.01)
    text = printed(cost, result)
    assert "the most expensive control is threads, ×1.50 (1.40 to 1.60) (independence)" in text
    assert "repeats (3 runs): samerun run --mode seeded" in text
    assert "the command fails with it" in text
    assert result.to_json()["prices"][1]["step"] == {"ratio": 1.5, "low": 1.4, "high": 1.6}


def test_a_price_within_the_noise_is_not_called_one() -> None:
    price = Price("threads", "control: one thread", Ratio(1.04, 1.01, 1.07), (1.04,))
    noise = Price("nothing", "noise", Ratio(1.01, 0.97, 1.05), (1.0,))
    assert CostResult("same", ("python",), 5, (noise, price)).dearest() is None
    assert CostResult("same", ("python",), 5, (price,)).dearest() == price


def test_a_study_says_which_luck_and_how_lucky() -> None:
    text = printed(study, studied())
    assert "6 seeds — mean 0.9183" in text
    assert "not in play: other seeds, the same bits" in text
    assert "best seed 4: 0.95, 1.6 standard deviations above the mean (chance alone: 1.3)" in text
    assert "the mean to ± 0.01: 20 seeds" in text
    assert "add up to 100 %" in text
    assert "A is better" in text
    assert "30 runs made, 2 known from earlier" in text


def test_the_json_of_a_study_is_plain() -> None:
    import json

    value = json.loads(json.dumps(studied().to_json(), allow_nan=False))
    assert value["complete"] is True
    assert value["sum"]["adds_up"] is True
    assert value["paired"]["differs"] is True
    assert value["sources"][1]["in_play"] is False
