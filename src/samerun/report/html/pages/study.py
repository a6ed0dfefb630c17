"""The page of a `study`."""

from __future__ import annotations

import shlex

from samerun.experiments.study.result import SourceSpread, StudyResult
from samerun.report.html.charts.interval_plot import Estimate, draw_forest
from samerun.report.html.pages.experiment import Page, Row, Section
from samerun.report.text import study


def build_page(result: StudyResult) -> Page:
    """Which luck the metric has, seed by seed, and A against B."""
    rows = [*result.sources, *([result.together] if result.together is not None else [])]
    sections = [_build_sources(result, rows), _seeds(result), _build_paired(result)]
    return Page(
        "study",
        "alone" if result.complete else "unknown",
        f"{result.seeds} seeds" if result.complete else "not complete",
        study.write_headline(result),
        shlex.join(result.command),
        tuple(section for section in sections if section is not None),
        result.notes,
        (("Metric", result.metric), ("Runs", f"{result.made} made, {result.known} known from earlier")),
    )


def _build_sources(result: StudyResult, rows: list[SourceSpread]) -> Section | None:
    if not rows:
        return None
    estimates = [
        Estimate(
            row.source,
            row.spread.deviation,
            study.spread(row),
            row.spread.low**0.5,
            row.spread.high**0.5,
            row.source == "together",
        )
        for row in rows
        if row.spread is not None and row.in_play
    ]
    return Section(
        "sources",
        "Where the variation comes from",
        "; ".join(
            filter(None, ["standard deviation of the metric, intervals at 95 %", study.describe_sum(result)])
        ),
        draw_forest("Standard deviation of the metric by source", estimates, reference=0.0),
        ("source", "standard deviation", "what it is"),
        tuple(Row((row.source, study.spread(row), row.what)) for row in rows),
    )


def _seeds(result: StudyResult) -> Section | None:
    together = result.together
    if together is None or result.mean is None:
        return None
    ranked = sorted(zip(together.values, together.seeds, strict=True), reverse=result.higher_is_better)
    lucky = {luck.seed for luck in (result.best, result.worst) if luck is not None}
    estimates = [
        Estimate(f"seed {seed}", value, f"{value:.6g}", marked=seed in lucky) for value, seed in ranked
    ]
    return Section(
        "seeds",
        "Seed by seed",
        "; ".join(study.describe_luck(result)),
        draw_forest("The metric of each seed, the best first", estimates, reference=result.mean[0]),
    )


def _build_paired(result: StudyResult) -> Section | None:
    found = result.paired
    if found is None:
        return None
    a, b = shlex.join(result.command), shlex.join(result.against)
    estimate = Estimate(
        "A - B", found.difference, f"{found.difference:.3g}", found.low, found.high, found.differs
    )
    return Section(
        "paired",
        "A against B",
        study.describe_paired(result, found),
        draw_forest("Difference of the two, seed by seed", [estimate], reference=0.0),
        ("", ""),
        (
            Row(("A", a)),
            Row(("B", b)),
            Row(
                (
                    "difference",
                    f"{found.difference:.3g} ({found.low:.3g} to {found.high:.3g}), p = {found.p:.2g}",
                )
            ),
            Row(("A beats B", f"{found.beats:.2f} ({found.beats_low:.2f} to {found.beats_high:.2f})")),
        ),
    )
