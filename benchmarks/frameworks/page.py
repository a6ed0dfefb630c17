"""The table of docs/frameworks.md, made from the results that are kept."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from framework_case import Framework

BEGIN, END = "<!-- made by `make frameworks`: do not edit -->\n", "<!-- end -->\n"
TORCH = importlib.metadata.version("torch")


class Cell(NamedTuple):
    """What a cell of the table says, and whether it is as it should be."""

    text: str
    right: bool


def judge(framework: Framework, column: str, kept: Mapping[str, Any]) -> Cell:
    """One column of one framework, in words."""
    if "error" in kept:
        return Cell("failed: " + kept["error"].strip().splitlines()[-1][:300], False)
    return JUDGES[column](framework, kept["values"])


def _judge_plain(framework: Framework, values: Mapping[str, Any]) -> Cell:
    weights = "the same" if values["weights"] else "others"
    text = f"{_verdict(values)}; weights {weights}; counted {_say_counts(values)}; {values['overhead']}×"
    return Cell(text, values["verdict"] == "same" and values["weights"] and _counts_right(values))


def _judge_planted(framework: Framework, values: Mapping[str, Any]) -> Cell:
    if not values["causes"]:
        return Cell(f"{_verdict(values)}, no cause", False)
    first = values["causes"][0]
    text = f"{first['source']} at {first['call_site']}{'' if first['confirmed'] else ', not confirmed'}"
    if not values["line_right"]:
        text += f" (planted at {values['planted_at'][0]})"
    cause_right = first["source"] in framework.plant.sources
    return Cell(text, values["verdict"] == "differs" and cause_right and values["line_right"])


def _judge_controlled(framework: Framework, values: Mapping[str, Any]) -> Cell:
    alive = 2 * values["distinct"] == values["drawn"]  # both runs drew the same, and no sample twice the same
    draws = f"; {values['distinct']} draws, each new" if values["drawn"] and alive else ""
    draws = draws if alive else f"; {values['distinct']} distinct of {values['drawn']} draws in two runs"
    return Cell(_verdict(values) + draws, values["verdict"] == "same" and alive)


def _judge_resume(framework: Framework, values: Mapping[str, Any]) -> Cell:
    said, known = values["lacked"] or [values["verdict"]], framework.resume.lacks
    right = all(any(what.startswith(each) for each in known) for what in said)
    if values["verdict"] == "unknown":
        said = [_verdict(values)]
    return Cell(", ".join(said), right)


JUDGES: dict[str, Callable[[Framework, Any], Cell]] = {
    "plain": _judge_plain,
    "planted": _judge_planted,
    "resume": _judge_resume,
    "controlled": _judge_controlled,
}


def _verdict(values: Mapping[str, Any]) -> str:
    verdict: str = values["verdict"]
    return verdict if verdict != "unknown" else f"unknown ({values['reason']})"


def write(page: Path, results: Sequence[tuple[Framework, Mapping[str, Any]]]) -> None:
    """Put the table between the marks of the page; what was not measured is left empty."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = [HEAD, "|" + " --- |" * HEAD.count(" | ") + " --- |"]
    rows += [_write_row(framework, kept) for framework, kept in results if kept]
    about = [f"- **{framework.title}**: {framework.about}." for framework, kept in results if kept]
    said = "\n".join([_say_when(results), *rows, "", "What they train with:", "", *about])
    page.write_text(f"{before}{BEGIN}\n{said}\n\n{END}{after}", encoding="utf-8")


HEAD = (
    "| framework | plain verdict | weights, recorded and plain | steps, micro-batches, evaluated "
    "| planted: cause and line | `resume` | `run` twice | CPU time |"
)


def _say_when(results: Sequence[tuple[Framework, Mapping[str, Any]]]) -> str:
    made = [cell for _, kept in results for cell in kept.values() if "values" in cell]
    days = sorted({cell["when"] for cell in made})
    period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"As run on {period} with torch {TORCH}, on CPU, one thread.\n"


def _write_row(framework: Framework, kept: Mapping[str, Any]) -> str:
    versions = {cell["version"] for cell in kept.values() if "version" in cell}
    cells = [" ".join([framework.title, *sorted(versions)])]
    plain = kept.get("plain", {}).get("values")
    cells += _say_plain(plain) if plain else ["", "", ""]
    cells += [_say(framework, kept, column) for column in ("planted", "resume", "controlled")]
    cells.append(f"{plain['overhead']:.2f}×" if plain else "")
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def _say(framework: Framework, kept: Mapping[str, Any], column: str) -> str:
    """A cell; one that is not as it should be in bold, and one that could not be made empty."""
    if "values" not in kept.get(column, {}):
        return ""
    cell = judge(framework, column, kept[column])
    return cell.text if cell.right else f"**{cell.text}**"


def _say_plain(values: Mapping[str, Any]) -> list[str]:
    verdict = _verdict(values) if values["verdict"] == "same" else f"**{_verdict(values)}**"
    return [verdict, "the same" if values["weights"] else "**others**", _say_counts(values)]


def _counts_right(values: Mapping[str, Any]) -> bool:
    return all(b is None or a == b for a, b in zip(values["counted"], values["truth"], strict=True))


def _say_counts(values: Mapping[str, Any]) -> str:
    pairs = zip(values["counted"], values["truth"], strict=True)
    return ", ".join("-" if b is None else str(a) if a == b else f"**{a} of {b}**" for a, b in pairs)
