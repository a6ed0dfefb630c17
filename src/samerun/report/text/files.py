"""Two checkpoints or files of tensors, compared, as text."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from samerun.comparing.compare_files import FileComparison, LeafDifference
from samerun.report.safe_text import HangingLine, Line, put, style_text
from samerun.report.text.opening import format_verdict, show_opening

_MOST = 20  # differences that are shown
_WIDEST = 40  # columns of a name


def show(found: FileComparison, console: Console) -> None:
    """Print the whole report."""
    show_opening(console, _format_verdict(found), found.notes)
    if found.differences:
        title = Text("Differences", style="bold")
        files = [style_text(f"  {side} {path}", "dim") for side, path in (("A", found.a), ("B", found.b))]
        put(console, [Text(), title, *files, *_list_lines(found.differences)])


def _format_verdict(found: FileComparison) -> Line:
    if found.verdict == "unknown":
        return format_verdict("unknown", found.reason or "")
    if found.verdict == "same":
        parts = [_count(found.tensors, "tensor"), _count(found.values, "value")]
        held = " and ".join(part for part in parts if not part.startswith("0 "))
        return format_verdict("same", f"{held}, bit for bit")
    parts = [
        f"{differing} of {_count(of, word)}"
        for differing, of, word in (
            (found.differing_tensors, found.tensors, "tensor"),
            (found.differing_values, found.values, "value"),
        )
        if differing
    ]
    verb = "differs" if found.differing_tensors + found.differing_values == 1 else "differ"
    return format_verdict("differs", f"{' and '.join(parts)} {verb}")


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _list_lines(differences: list[LeafDifference]) -> list[Line]:
    shown = differences[:_MOST]
    width = max((len(name) for name in map(_name, shown) if len(name) <= _WIDEST), default=0)
    lines: list[Line] = []
    for item in shown:
        head = style_text(f"  {_name(item):<{width}}  ", "bold")
        if head.cell_len > _WIDEST + 4:  # what is said of it goes below
            head.rstrip()
            lines.append(head)
            head = Text(" " * 6)
        lines.append(HangingLine(head, style_text(_say(item))))
    if len(differences) > _MOST:
        lines.append(Text(f"  … and {len(differences) - _MOST:,} more; --json FILE has all", style="dim"))
    return lines


def _name(item: LeafDifference) -> str:
    return item.name or "(the whole file)"


def _say(item: LeafDifference) -> str:
    if item.what.startswith("only in"):
        return f"{item.what}: {item.a or item.b}"
    if item.what == "unread":
        return f"not the same file in both, and it is not read: {item.a}"
    if item.distance is None:
        return f"A {item.a}, B {item.b}"
    distance = item.distance
    said = [f"{distance.differing:,} of {_count(distance.elements or 0, 'element')} of {item.a}"]
    where = f"at {list(distance.first)}: " if distance.first else ""
    said.append(f"first {where}A {distance.first_a}, B {distance.first_b}")
    if distance.ulps is not None:
        said.append(f"up to {_count(distance.ulps, 'ulp')} apart")
    if distance.relative is not None:
        said.append(f"relative size {distance.relative:.2g}")
    return "; ".join(said)
