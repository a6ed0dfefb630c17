"""The pages of `vary`, `cost` and `study`.

Covers `charts/interval_plot.py`, `pages/cost.py`, `pages/experiment.py`, `pages/study.py` and
`pages/vary.py`.
"""

from __future__ import annotations

from samerun.experiments.cost.pricing import Ratio
from samerun.experiments.cost.result import Choice, CostResult, Price
from samerun.experiments.vary.result import Effect, VaryResult
from samerun.report.html.charts.interval_plot import Estimate, draw_forest
from samerun.report.html.pages import cost as of_cost
from samerun.report.html.pages import experiment
from samerun.report.html.pages import study as of_study
from samerun.report.html.pages import vary as of_vary

from ..experiments import RUNS, VARIED, studied


def test_the_pages_show_what_the_text_shows_and_load_nothing() -> None:
    price = Price("threads", "control: one thread", Ratio(1.5, 1.4, 1.6), (1.5,), buys="independence")
    choice = Choice("cheapest", "samerun run --mode seeded", "same", 3, Ratio(1.0, 0.9, 1.1))
    costed = CostResult("same", ("python",), 5, (price,), (choice,), 0.01)
    pages = {
        "1 thread": of_vary.build_page(VARIED),
        "independence": of_cost.build_page(costed),
        "seed 4": of_study.build_page(studied()),
    }
    for words, page in pages.items():
        text = experiment.render(page)
        assert words in text
        assert "<svg" in text
        assert "<script" not in text and "http://" not in text and "https://" not in text


def test_markup_from_a_stranger_is_text() -> None:
    effect = Effect("user", "<script>alert(1)</script>", "unknown", RUNS, reason="<b>")
    page = of_vary.build_page(VaryResult("unknown", RUNS, ("<i>",), "", effects=(effect,), notes=("<u>",)))
    text = experiment.render(page)
    assert "<script>" not in text and "<b>" not in text and "<i>" not in text and "<u>" not in text


def test_a_plot_is_to_scale() -> None:
    rows = [Estimate("a", 1.0, "1", 0.5, 2.0), Estimate("b", 4.0, "4", 2.0, 8.0)]
    plot = draw_forest("ratios", rows, reference=1.0, logarithmic=True)
    assert plot is not None
    a, b = plot.marks
    assert a.left < a.x == plot.reference < a.right == b.left < b.x < b.right
    assert abs((a.x - a.left) - (b.right - b.x)) < 0.2  # a factor of two is as wide everywhere
    assert draw_forest("none", []) is None
    assert draw_forest("one", [Estimate("a", 0.0, "0")]) is not None
