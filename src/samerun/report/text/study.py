"""What `study` found, as text: the spread of the metric, which luck it is, and what to make of it."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.text import Text

from samerun.experiments.study.paired_test import PairedTest
from samerun.experiments.study.result import SourceSpread, StudyResult
from samerun.experiments.study.variance import Luck
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text.opening import format_verdict, show_opening

_BAR = 20  # columns


def show(result: StudyResult, console: Console) -> None:
    """Print the whole report."""
    show_opening(console, _format_headline(result), result.notes)
    if result.sources:
        put(console, [Text(), *_list_sources(result)])
    put(console, [Text(), *_seeds(result)])
    if result.paired is not None:
        put(console, [Text(), *_format_paired(result, result.paired)])
    known = f", {result.known} known from earlier" if result.known else ""
    put(console, [style_text(f"{result.made} runs made{known}; kept in {result.place}", "dim")])


def _format_headline(result: StudyResult) -> Line:
    if result.mean is None or result.together is None:
        return format_verdict("unknown", write_headline(result))
    return HangingLine(
        Text(f"{len(result.together.values)} seeds — ", style="bold"), style_text(write_headline(result))
    )


def write_headline(result: StudyResult) -> str:
    """The mean and its interval, in a sentence."""
    if result.mean is None or result.together is None or result.together.spread is None:
        return result.reason or "no metric"
    mean, low, high = result.mean
    deviation = result.together.spread.deviation
    return f"mean {mean:.4g} (95 % interval {low:.4g} to {high:.4g}), standard deviation {deviation:.2g}"


def _list_sources(result: StudyResult) -> list[Line]:
    rows = [*result.sources, *([result.together] if result.together is not None else [])]
    width = max(len(row.source) for row in rows)
    most = max((row.spread.variance for row in rows if row.spread is not None), default=0.0)
    lines: list[Line] = [Text("Standard deviation of the metric, by what is varied (95 %)", style="bold")]
    lines += [_format_source(row, width, most) for row in rows]
    if said := describe_sum(result):
        lines.append(HangingLine(Text("  "), style_text(said)))
    return lines


def describe_sum(result: StudyResult) -> str:
    """Whether the sources add up to all together; "" where that is not known."""
    total = result.total
    if total is None or not total.together:
        return ""
    if total.adds_up:
        share = total.parts / total.together * 100
        return f"the variances of the sources add up to {share:.0f} % of that of all together, within error"
    word = "more" if total.interaction > 0 else "less"
    return (
        f"the sources interact: together their variance is {word} than the sum of each alone, "
        f"{total.together:.2g} and {total.parts:.2g}"
    )


def spread(row: SourceSpread) -> str:
    """A standard deviation and its interval: "0.01 (0.008 to 0.02)"."""
    if not row.in_play:
        return "0: not in play, other seeds give the same bits"
    if row.spread is None:
        return "too few runs gave a metric"
    return f"{row.spread.deviation:.3g} ({row.spread.low**0.5:.2g} to {row.spread.high**0.5:.2g})"


def _format_source(row: SourceSpread, width: int, most: float) -> Line:
    head = style_text(f"  {row.source:<{width}}  ")
    if not row.in_play:
        return HangingLine(head, style_text(f"{'0':<26} not in play: other seeds, the same bits", "dim"))
    if row.spread is None:
        return HangingLine(head, style_text("too few runs gave a metric", "yellow"))
    bar = "█" * round(_BAR * row.spread.variance / most) if most else ""
    return HangingLine(
        head, style_text(f"{spread(row):<26} ").append(f"{bar:<{_BAR}} ", "cyan").append(row.what, "dim")
    )


def _seeds(result: StudyResult) -> list[Line]:
    said = describe_luck(result)
    return (
        [Text("Seeds", style="bold"), *(HangingLine(Text("  "), style_text(line)) for line in said)]
        if said
        else []
    )


def describe_luck(result: StudyResult) -> list[str]:
    """How lucky the best and the worst seed are, and how many seeds are enough."""
    if result.best is None or result.worst is None:
        return []
    lines = [_describe_lucky("best", result.best), _describe_lucky("worst", result.worst)]
    for precision, count in result.needed:
        seeds = "more than 100,000 seeds" if count is None else f"{count} seeds"
        lines.append(f"the mean to ± {precision:.2g}: {seeds}")
    return lines


def _describe_lucky(word: str, luck: Luck) -> str:
    return (
        f"{word} seed {luck.seed}: {luck.value:.4g}, {abs(luck.deviations):.1f} standard deviations "
        f"{'above' if luck.deviations >= 0 else 'below'} the mean (chance alone: {luck.expected:.1f})"
    )


def _format_paired(result: StudyResult, found: PairedTest) -> list[Line]:
    a, b = shlex.join(result.command), shlex.join(result.against)
    lines: list[Line] = [Text("A against B, seed by seed", style="bold")]
    lines += [
        HangingLine(Text("  A  ", style="dim"), style_text(a)),
        HangingLine(Text("  B  ", style="dim"), style_text(b)),
    ]
    interval = f"95 % interval {found.low:.3g} to {found.high:.3g}"
    said = f"A - B = {found.difference:.3g} ({interval}), p = {found.p:.2g}"
    lines.append(HangingLine(Text("  "), style_text(said)))
    beats = f"A beats B with probability {found.beats:.2f} ({found.beats_low:.2f} to {found.beats_high:.2f})"
    ties = f"; {found.ties} of {found.count} pairs are equal" if found.ties else ""
    lines.append(HangingLine(Text("  "), style_text(beats + ties)))
    lines.append(HangingLine(Text("  "), style_text(describe_paired(result, found), "bold")))
    return lines


def describe_paired(result: StudyResult, found: PairedTest) -> str:
    """What to make of the difference: nothing, where seeds are missing, as those where one of them fails."""
    if missing := result.seeds - found.count:
        return (
            f"no conclusion: {missing} of {result.seeds} seeds gave no metric for A or for B, and those may "
            "be where they differ"
        )
    if found.ties == found.count:
        return "every pair is equal: to this metric, A and B are the same"
    if found.differs:
        better = (found.difference > 0) is result.higher_is_better
        return f"{'A' if better else 'B'} is better: chance alone seldom gives such a difference"
    count = result.needed_for_difference
    more = "" if count is None else f"; if it is real and this large, about {count} seeds would show it"
    return f"the difference may be chance{more}"
