"""What `vary` found, as text: the verdict, then one line for each change that was tried."""

from __future__ import annotations

import math

from rich.console import Console
from rich.text import Text

from samerun.experiments.vary.result import Effect, Size, VaryResult
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text.opening import STYLES, format_verdict, show_opening


def show(result: VaryResult, console: Console) -> None:
    """Print the whole report."""
    verdict = format_verdict(result.verdict, write_headline(result))
    show_opening(console, verdict, result.notes, result.output)
    if result.effects:
        put(console, [Text(), *_format_table(result.effects)])
    if result.together:
        names = " + ".join(f"{source} ({variant})" for source, variant in result.together)
        put(
            console,
            [
                Text(),
                HangingLine(Text("Only together: ", style="bold"), style_text(f"{names} change the result")),
            ],
        )
    if result.untried:
        names = ", ".join(f"{source} ({variant})" for source, variant in result.untried)
        put(console, [Text(), HangingLine(Text("Not tried: ", style="bold"), style_text(names))])
    put(console, [Text(), style_text(f"Runs in {result.place}, compared with {result.runs[0]}", "dim")])


def write_headline(result: VaryResult) -> str:
    """What the result depends on, in a sentence."""
    under = "" if result.mode is None else f" (under mode {result.mode})"
    if result.verdict == "same":
        tried = len({effect.source for effect in result.effects})
        return f"the result depends on none of the {tried} sources varied{under}; {result.scope}"
    if result.verdict == "differs":
        sources = list(dict.fromkeys(effect.source for effect in result.dependences()))
        both = " + ".join(source for source, _ in result.together)
        listed = ", ".join([*sources, *([f"{both} together"] if both else [])])
        return f"the result depends on {listed}{under}"
    return result.reason or "nothing to compare"


def sort_effects(effects: tuple[Effect, ...]) -> list[Effect]:
    """Those that change the result first, each part in the order in which they were tried."""
    order = {"differs": 0, "unknown": 1, "same": 2}
    return sorted(effects, key=lambda effect: order[effect.verdict])


def _format_table(effects: tuple[Effect, ...]) -> list[Line]:
    rows = sort_effects(effects)
    source = max(len(effect.source) for effect in rows)
    variant = max(len(effect.variant) for effect in rows)
    lines: list[Line] = [
        Text(f"  {'source':<{source}}  {'changed to':<{variant}}  {'result':<8} ", style="bold")
    ]
    for effect in rows:
        head = style_text(f"  {effect.source:<{source}}  {effect.variant:<{variant}}  ")
        head.append(f"{effect.verdict:<8} ", STYLES[effect.verdict])
        lines.append(HangingLine(head, style_text(describe_effect(effect))))
    return lines


def describe_effect(effect: Effect) -> str:
    """Where and how much, or why not."""
    if effect.verdict == "unknown":
        return effect.reason or ""
    if effect.verdict == "same":
        if not effect.in_play:
            return "not in play: nothing in the run used it"
        return "in its weights" if effect.weights_only else ""
    parts = [_place(effect), format_size(effect.size)]
    if effect.repeats is False:
        parts.append("runs with it differ from each other too")
    return "; ".join(part for part in parts if part)


def _place(effect: Effect) -> str:
    first = effect.difference
    if first is None:
        return ""
    op = first.op or (first.origin.op if first.origin else None)
    what = op or (f"{first.what} {first.name}" if first.name else first.what)
    site = first.call_site or (first.origin.call_site if first.origin else None)
    return f"step {first.step}, {first.phase}: {what}" + (f" ({site})" if site else "")


def format_size(size: Size) -> str:
    """How large a difference is: "loss 3 ulps at step 2, 0.0123 at the end"."""
    parts = []
    if size.weights_ulps is not None:
        parts.append(f"weights by up to {size.weights_ulps:,.0f} ulps")
    if size.loss_step is not None and size.loss_ulps is not None:
        parts.append(f"loss by {size.loss_ulps:,.0f} ulps at step {size.loss_step}")
    if size.final_losses is not None:
        one, other = size.final_losses
        if math.isfinite(one) and math.isfinite(other):
            parts.append(f"{abs(other - one):.2g} in the final loss" if one != other else "final loss equal")
    return ", ".join(parts)
