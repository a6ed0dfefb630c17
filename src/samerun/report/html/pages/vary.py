"""The page of a `vary`."""

from __future__ import annotations

import shlex

from samerun.experiments.vary.result import Effect, VaryResult
from samerun.report.html.charts.interval_plot import Estimate, draw_forest
from samerun.report.html.pages.experiment import Page, Row, Section
from samerun.report.text import vary

_VERDICTS = {"same": "✓ same", "differs": "✗ differs", "unknown": "? unknown"}


def build_page(result: VaryResult) -> Page:
    """Every change that was tried, and how far the first loss that differs is off."""
    sections = [Section("matrix", "What was changed", columns=_COLUMNS, rows=_build_rows(result))]
    plot = draw_forest(
        "Size of each difference in units in the last place",
        [_estimate(effect) for effect in result.dependences() if effect.size.loss_ulps],
        logarithmic=True,
    )
    if plot is not None:
        said = "Units in the last place of float32 by which the first loss that differs is off."
        sections.append(Section("sizes", "How large the differences are", said, plot))
    mode = result.mode or "no control"
    return Page(
        "vary",
        result.verdict,
        _VERDICTS[result.verdict],
        vary.write_headline(result),
        shlex.join(result.command),
        tuple(sections),
        (*result.notes, *_describe_more(result)),
        (("Compared", result.scope), ("Under", mode)) if result.scope else (),
    )


_COLUMNS = ("source", "changed to", "result", "where and how much")


def _build_rows(result: VaryResult) -> tuple[Row, ...]:
    return tuple(
        Row((effect.source, effect.variant, effect.verdict, vary.describe_effect(effect)), effect.verdict)
        for effect in vary.sort_effects(result.effects)
    )


def _estimate(effect: Effect) -> Estimate:
    ulps = effect.size.loss_ulps or 1.0
    return Estimate(f"{effect.source}: {effect.variant}"[:34], ulps, f"{ulps:,.0f} ulps", marked=True)


def _describe_more(result: VaryResult) -> list[str]:
    said = []
    if result.together:
        names = " + ".join(f"{source} ({variant})" for source, variant in result.together)
        said.append(f"only together: {names} change the result")
    if result.untried:
        names = ", ".join(f"{source} ({variant})" for source, variant in result.untried)
        said.append(f"not tried: {names}")
    return said
