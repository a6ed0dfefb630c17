"""What `cost` found, as text: the configurations to choose from, then the price of everything."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from samerun.experiments.cost.pricing import Ratio
from samerun.experiments.cost.result import Choice, CostResult, Price
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text.opening import STYLES, format_verdict, show_opening

_WORDS = {"same": "repeats", "differs": "does not repeat", "unknown": "not known whether it repeats"}


def show(result: CostResult, console: Console) -> None:
    """Print the whole report."""
    show_opening(console, _format_verdict(result), result.notes, result.output)
    if result.choices:
        put(console, [Text(), Text("To choose from", style="bold"), *map(_format_choice, result.choices)])
    if result.prices:
        put(console, [Text(), *list_prices(result)])
    if result.place:
        put(console, [Text(), style_text(f"Runs in {result.place}", "dim")])


def list_prices(result: CostResult) -> list[Line]:
    """The table of prices, which may rest on one round alone."""
    width = max(len(price.name) for price in result.prices)
    title = Text("Price of a step, 95 % interval", style="bold")
    return [title, *(_price(price, width) for price in result.prices)]


def _format_verdict(result: CostResult) -> Line:
    if result.reason is not None or not result.prices:
        return format_verdict("unknown", write_headline(result))
    return HangingLine(Text(f"{result.rounds} rounds — "), style_text(write_headline(result)))


def write_headline(result: CostResult) -> str:
    """What costs most, in a sentence."""
    if result.reason is not None or not result.prices:
        return result.reason or "nothing was measured"
    seconds = (
        "" if result.seconds is None else f"a step takes {result.seconds * 1000:.3g} ms when left alone; "
    )
    dearest = result.dearest()
    if dearest is None or dearest.steps is None:
        return f"{seconds}no control costs more than can be measured"
    most = f"the most expensive control is {dearest.name}, {format_ratio(dearest.steps)}"
    return seconds + most + (f" ({dearest.buys})" if dearest.buys else "")


def _format_choice(choice: Choice) -> Line:
    head = style_text(f"  {choice.name:<11}")
    text = style_text(f"{format_ratio(choice.price) if choice.price else '—':<22} ")
    text.append(_WORDS[choice.verdict], STYLES[choice.verdict])
    return HangingLine(head, text.append(f" ({choice.runs} runs): {choice.how}"))


def _price(price: Price, width: int) -> Line:
    head = style_text(f"  {price.name:<{width}}  ")
    if price.steps is None and price.reason is None and price.pairs:
        return HangingLine(head, style_text(f"×{price.pairs[-1]:.2f} (one round)"))
    if price.steps is None:
        return HangingLine(head, style_text(price.reason or "too few pairs", "yellow"))
    text = style_text(f"{format_ratio(price.steps):<22} ", "bold" if price.steps.low > 1 else "")
    text.append(price.what, "dim")
    return HangingLine(head, text.append(f"; {price.buys}" if price.buys else "", "default"))


def format_ratio(ratio: Ratio) -> str:
    """ "×1.10 (1.08 to 1.12)"."""
    return f"×{ratio.ratio:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
