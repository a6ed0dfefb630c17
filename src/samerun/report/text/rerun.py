"""The outcome of a rerun, as text: whether it is that run again; if not, what changed outside first."""

from __future__ import annotations

import re
import shlex

from rich.console import Console
from rich.text import Text

from samerun.experiments.rerun.result import Parting, RerunResult, Unreplayed
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text import causes
from samerun.report.text import first_difference as place
from samerun.report.text.losses import build_loss_table

_MOST = 3  # places that are named for each source


def show(result: RerunResult, console: Console) -> None:
    """Print the whole report."""
    compared = result.compared
    put(console, [_format_verdict(result)])
    put(console, [HangingLine(Text("  "), style_text(line)) for line in _list_notes(result)])
    if compared.output:
        put(console, [Text(), Text("The last lines it printed", style="bold")])
        put(console, [style_text(f"  {line}", "dim") for line in compared.output])
    if compared.verdict != "same":
        put(console, _list_changed(result))
        put(console, _list_not_given(result))
    if compared.verdict == "differs" and compared.difference is not None:
        table = build_loss_table(compared, console.width)
        if table:
            head = Text("Loss (run 1 is the recorded one)", style="bold")
            put(console, [Text(), head, *table])
        where = place.describe(compared.difference, compared.folder, compared.pair)
        put(console, [Text(), Text("First difference", style="bold"), *where])
        put(console, [Text(), *causes.describe(compared)])
    put(console, [Text(), *_list_next(result)])


def _format_verdict(result: RerunResult) -> Line:
    compared = result.compared
    if compared.verdict == "same":
        text = f"this is the run {result.of} again, bit for bit, to its end ({compared.scope})"
        return _format_line("✓ same", "bold green", text)
    if compared.verdict == "differs" and compared.difference is not None:
        headline = place.write_headline(compared.difference)
        text = f"this is not the run {result.of} again: the two diverge {headline}"
        return _format_line("✗ differs", "bold red", text)
    reason = compared.reason or "nothing to compare"
    return _format_line("? unknown", "bold yellow", f"whether this is the run {result.of} again: {reason}")


def _format_line(word: str, style: str, rest: str) -> Line:
    return HangingLine(Text(word, style=style).append(" — ", "default"), style_text(rest))


def _list_notes(result: RerunResult) -> list[str]:
    given = (
        f"given what they gave then: {', '.join(result.given)}" if result.given else "nothing was replayed"
    )
    notes = [given, *result.compared.notes]
    if not result.printed_alike:
        notes.append("what the two printed differs, such as times or names")
    if result.verdict == "same":
        notes += [f"without effect here: {_describe_parting(item)}" for item in result.parted]
        if result.unreplayed:
            used = "; ".join(map(_describe_use, result.unreplayed))
            notes.append(f"not replayed, though the script uses it; it made no difference here: {used}")
    return notes


def _list_changed(result: RerunResult) -> list[Line]:
    if not result.changed:
        return []
    lines: list[Line] = [Text(), Text("Changed since that run", style="bold")]
    for cause in result.changed:
        lines.append(HangingLine(Text("  "), style_text(f"{cause.source}: {cause.evidence}")))
    return lines


def _list_not_given(result: RerunResult) -> list[Line]:
    said = [*map(_describe_parting, result.parted), *map(_describe_unreplayed, result.unreplayed)]
    if not said:
        return []
    head = Text("Not given again", style="bold")
    return [Text(), head, *(HangingLine(Text("  "), style_text(line)) for line in said)]


def _describe_parting(item: Parting) -> str:
    asked = " ".join(part for part in (item.name, f"at {item.call_site}" if item.call_site else "") if part)
    return f"{item.source}{f' ({asked})' if asked else ''}: {item.why}"


def _describe_unreplayed(item: Unreplayed) -> str:
    return f"{_describe_use(item)}: {item.why}"


def _describe_use(item: Unreplayed) -> str:
    places = [_describe_place(name, site) for name, site in item.uses]
    more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
    return f"{item.source} ({', '.join(places[:_MOST])}{more})"


def _describe_place(name: str, site: str | None) -> str:
    """What was used, and its line where that is not named yet."""
    known = site is None or re.search(rf"(?<![\w/.-]){re.escape(site)}(?!\d)", name)
    return name if known else f"{name} at {site}"


def _list_next(result: RerunResult) -> list[Text]:
    """How to look at the two again, and where they are."""
    compared = result.compared
    lines: list[Text] = []
    if compared.verdict == "differs" and compared.pair is not None:
        lines.append(Text("Next", style="bold"))
        lines.append(Text("  # these two runs again", style="dim"))
        lines.append(style_text(f"  samerun diff {shlex.join(compared.pair)}"))
    lines.append(style_text(f"Runs in {compared.place}: {', '.join(compared.runs)}", "dim"))
    return lines
