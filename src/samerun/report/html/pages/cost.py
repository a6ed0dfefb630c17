"""The page of a `cost`."""

from __future__ import annotations

import shlex

from samerun.experiments.cost.result import CostResult
from samerun.report.html.charts.interval_plot import Estimate, draw_forest
from samerun.report.html.pages.experiment import Page, Row, Section
from samerun.report.text import cost

_VERDICTS = {"same": "repeats", "differs": "does not repeat", "unknown": "? unknown"}


def build_page(result: CostResult) -> Page:
    """The configurations to choose from, and every price with its interval."""
    dearest = result.dearest()
    plot = draw_forest(
        "Time of a step against the command left alone",
        [
            Estimate(
                price.name,
                price.steps.ratio,
                cost.format_ratio(price.steps),
                price.steps.low,
                price.steps.high,
                price == dearest,
            )
            for price in result.prices
            if price.steps is not None
        ],
        reference=1.0,
        logarithmic=True,
    )
    prices = tuple(
        Row(
            (
                price.name,
                "—" if price.steps is None else cost.format_ratio(price.steps),
                price.what,
                price.buys or price.reason or "",
            ),
            "unknown" if price.reason else "",
        )
        for price in result.prices
    )
    choices = tuple(
        Row(
            (
                choice.name,
                cost.format_ratio(choice.price) if choice.price else "—",
                choice.how,
                _VERDICTS[choice.verdict],
            ),
            choice.verdict,
        )
        for choice in result.choices
    )
    sections = (
        Section("choices", "To choose from", columns=("", "a step takes", "how", f"{3} runs"), rows=choices),
        Section(
            "prices",
            "Prices",
            "How many times as long a step takes, with intervals at 95 %.",
            plot,
            ("", "a step takes", "what", "what it buys here"),
            prices,
        ),
    )
    return Page(
        "cost",
        result.verdict,
        _VERDICTS[result.verdict],
        cost.write_headline(result),
        shlex.join(result.command),
        tuple(section for section in sections if section.rows),
        result.notes,
        (("Rounds", str(result.rounds)),),
    )
