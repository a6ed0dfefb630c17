"""The tables of docs/guests.md, made from the results that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from guests.judging import RECORDED, Judged, Parted
from guests.ways import Ran

BEGIN, END = "<!-- made by `make guests`: do not edit -->\n", "<!-- end -->\n"
WAYS = (*RECORDED, "strict")


def write(page: Path, judged: Sequence[Judged]) -> None:
    """Put what became of the suites between the marks of the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    whole = [each for each in judged if all(each.ran[way] is not None for way in ("plain", *WAYS))]
    said = "\n".join([_when(whole), _table(whole), _what_parts(whole), _flaky(whole), _selections(whole)])
    page.write_text(f"{before}{BEGIN}\n{said}\n{END}{after}", encoding="utf-8")


def _when(judged: Sequence[Judged]) -> str:
    ran = [here for each in judged for here in each.ran.values() if here is not None]
    days = sorted({here.when for here in ran})
    versions = ", ".join(f"{name} {number}" for name, number in ran[0].versions.items())
    tests = sum(len(_plain(each).outcomes) for each in judged)
    parted = sum(each.count(way) for each in judged for way in RECORDED)
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return (
        f"As run on {period} with {versions}, on CPU, one thread: {len(judged)} suites, {tests:,} tests, of "
        f"which {parted} end otherwise when recorded.\n"
    )


def _table(judged: Sequence[Judged]) -> str:
    head = "| suite | commit | tests | passed | skipped or expected to fail | failed plain too "
    head += "| diverged: `off` | tier `ops` | `strict` | CPU time: `off` | tier `ops` | `strict` |"
    rows = [head, "|" + " --- |" * 12]
    for each in judged:
        plain = _plain(each)
        outcomes = Counter(plain.outcomes.values())
        waived = outcomes["skipped"] + outcomes["xfailed"]
        failed = outcomes["failed"] + outcomes["error"] + outcomes["xpassed"]
        cells = [f"[{each.suite.name}]({each.suite.url})", f"`{each.suite.commit[:10]}`"]
        cells += [f"{len(plain.outcomes):,}", f"{outcomes['passed']:,}", str(waived), str(failed)]
        cells += [str(each.count(way)) for way in WAYS]
        cells += [f"{each.ratio(way):.2f}×" for way in WAYS]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _what_parts(judged: Sequence[Judged]) -> str:
    """Each test that parts, by the way and the reason."""
    rows = []
    for each in judged:
        reasons: dict[tuple[str, str], list[Parted]] = {}
        for parted in each.parted:
            reason = "not explained" if parted.explained is None else parted.explained.reason
            reasons.setdefault((parted.way, reason), []).append(parted)
        for (way, reason), those in reasons.items():
            tests = "<br>".join(f"`{_cell(one.test)}`: {one.plain} → {one.here}" for one in those)
            rows.append(f"| {each.suite.name} | {way} | {tests} | {_cell(reason)} |")
    title = "## What diverges\n"
    if not rows:
        return f"{title}\nNothing.\n"
    return "\n".join([title, "| suite | way | tests | why |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _flaky(judged: Sequence[Judged]) -> str:
    rows = [
        f"| {each.suite.name} | `{_cell(test)}` | {_known(each, test)} |"
        for each in judged
        for test in each.flaky
    ]
    title = "## What differs between plain runs\n\nThese are not counted as diverged.\n"
    if not rows:
        return f"{title}\nNothing was seen to.\n"
    return "\n".join([title, "| suite | test | seen |", "| --- | --- | --- |", *rows]) + "\n"


def _known(judged: Judged, test: str) -> str:
    known = [told.reason for told in judged.suite.flaky if told.holds(test)]
    return _cell("; ".join(known)) or "in the two plain runs"


def _selections(judged: Sequence[Judged]) -> str:
    rows = []
    for each in judged:
        suite = each.suite
        left = [f"without `{path}`" for path in suite.ignore]
        left += [f"without `{_cell(test)}`: {told.reason}" for told in suite.left_out for test in told.tests]
        chosen = " ".join(f"`{path}`" for path in suite.select)
        rows.append(f"| {suite.name} | {'<br>'.join([chosen, *left])} |")
    return "\n".join(["## Selections\n", "| suite | files |", "| --- | --- |", *rows]) + "\n"


def _plain(judged: Judged) -> Ran:
    plain = judged.ran["plain"]
    assert plain is not None
    return plain


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
