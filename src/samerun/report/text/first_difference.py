"""Where two runs part, in words, with the source lines around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from samerun.comparing.operations import brings_data
from samerun.report.safe_text import HangingLine, Line, style_text
from samerun.report.text.shown_code import describe_line, find_code, name_line
from samerun.runs.difference import Difference, Gap, LaterDifference, Origin
from samerun.runs.schema import RESULTS

_CONTEXT = 2  # lines before and after

_WORDS = {
    "batch": "the batch",
    "input": "the input of the model",
    "output": "the output of the model",
    "loss": "the loss",
    "gradients": "the gradients",
    "parameters": "the parameters",
    "buffers": "the buffers",
    "optimizer": "the optimizer's state",
    "saved": "what was saved",
    "operation": "an operation",
    "end": "how the run ended",
    "printed": "what the run prints",
    "written": "what the run writes",
}
_KINDS = {
    "value": "",
    "order": "the same in both runs, in another order",
    "flow": "only one of the runs has it",
    "ended": "one of the runs ends here",
}


def write_headline(difference: Difference) -> str:
    """Where, in one phrase: "at step 0, in setup"."""
    if difference.what in RESULTS:
        verb = "print" if difference.what == "printed" else "write"
        site = f", at {name_line(difference)}" if difference.call_site else ""
        who = f"only run {difference.run.upper()} {verb}s" if difference.run else f"they {verb}"
        return f"in a result that {who}{site}; every record is equal"
    rank = f", on rank {difference.rank}" if difference.rank else ""
    return f"at step {difference.step}, in {difference.phase}{rank}"


def describe(difference: Difference, folder: str, pair: tuple[str, str] | None) -> list[Line]:
    """The lines that say where the runs of `pair` part; call sites are relative to `folder`."""
    lines: list[Line] = [_format_field(name, value) for name, value in list_facts(difference, pair, folder)]
    found = find_code(difference, folder)
    if found is not None:
        lines.extend(_format_source_line(line) for line in list_around(*found[1]))
    return lines


def list_facts(
    difference: Difference, pair: tuple[str, str] | None, folder: str = ""
) -> list[tuple[str, str]]:
    """What is known of the place, as (name, value); a value without a name goes on from the one before."""
    found: list[tuple[str, str]] = []
    if pair is not None:
        found.append(("runs", f"A {pair[0]}, B {pair[1]}"))
    at_end = difference.what in RESULTS  # which process prints or writes it is not known
    where = f"step {difference.step}, {difference.phase}, {difference.process}"
    found.append(("where", "the end of the run" if at_end else where))
    found.append(("what", _name_what(difference)))
    op = difference.op or (difference.origin.op if difference.origin else None)
    module = difference.module or (difference.origin.module if difference.origin else None)
    if module:
        found.append(("module", module))
    if op:
        found.append(("operation", op))
    if difference.origin is not None:
        found.append(("", _describe_origin(difference.origin)))
    if difference.gap is not None:
        found.append(("memory", _describe_gap(difference.gap)))
    if sampled := _describe_samples(difference):
        found.append(("samples", sampled))
    if difference.further:
        found.append(("later", _describe_further(difference.further)))
    if line := describe_line(difference, folder):
        found.append(("line", line))  # last: the lines around it follow
    return found


@dataclass(frozen=True)
class SourceLine:
    """One line of a file; `here` where it is the one that is pointed at."""

    number: int
    text: str
    here: bool


def list_around(lines: Sequence[str], here: int) -> list[SourceLine]:
    """The line of that number (from 1) and its neighbours."""
    shown = range(max(1, here - _CONTEXT), min(len(lines), here + _CONTEXT) + 1)
    return [SourceLine(number, lines[number - 1].expandtabs(4).rstrip(), number == here) for number in shown]


def _format_source_line(line: SourceLine) -> Text:
    mark = "→" if line.here else " "
    head = Text(f"  {mark} {line.number:>4} │ ", style="red" if line.here else "dim")
    return head.append_text(style_text(line.text, "bold" if line.here else "dim"))


def _format_field(name: str, value: str) -> Line:
    return HangingLine(Text(f"  {name:<10}", style="dim"), style_text(value))


def _name_what(difference: Difference) -> str:
    what = _WORDS.get(difference.what, difference.what)
    name = "" if not difference.name or difference.what == "operation" else f": {difference.name}"
    kind = _KINDS[difference.kind]
    return f"{what}{name}" + (f" ({kind})" if kind else "")


def _describe_origin(origin: Origin) -> str:
    if brings_data(origin.op):
        return "data enters torch here, and it already differs"
    if not origin.inputs_equal:
        return "its inputs differ although no earlier operation did, so the data came from outside torch"
    if origin.draws_other_size:
        return "it draws from a generator in the same state, but another number of values, or in other limits"
    said = ["equal inputs, different outputs"]
    if origin.draws:
        state = "differs" if origin.generator_differs else "is not known"
        said.append(f"it draws from a generator whose state {state}")
    if origin.reads_uninitialized:
        said.append("it reads memory that nothing has written")
    return "; ".join(said)


def _describe_gap(gap: Gap) -> str:
    """Between which two lines memory was written past torch."""
    since = f"between {_format_by(gap.seen_at, gap.seen_by)} and" if gap.seen_by else "before"
    only = f", in run {gap.run.upper()} only" if gap.run else ""
    return (
        f"the memory of {gap.tensor or 'a tensor'} was written past torch {since} "
        f"{_format_by(gap.met_at, gap.met_by)}{only} (by NumPy, a pointer, an extension or another thread)"
    )


_REASONS = {
    "origin": "equal inputs, different outputs",
    "rng": "it draws from a generator whose state differs",
    "gap": "its memory was written past torch",
}


def _describe_further(further: Sequence[LaterDifference]) -> str:
    """What differs after it with equal inputs: it does not follow from it, but may have the same cause.

    What only one run does may follow from it, and so may what comes after that.
    """
    first = further[0]
    more = f", and {len(further) - 1} more" if len(further) > 1 else ""
    where = _format_by(first.call_site, first.op)
    if first.kind == "flow":
        apart = f"from step {first.step} on the runs take different paths, perhaps because of it"
        return f"{apart}: only one of them has {where}{more}"
    start = f"a second one, not caused by it, starts at step {first.step}, at {where}"
    return f"{start}: {_REASONS[first.kind]}{more}"


def _format_by(site: str | None, op: str) -> str:
    return f"{site} ({op})" if site else op


def _describe_samples(difference: Difference) -> str:
    if difference.indices_equal is None:
        return ""
    if difference.indices_equal:
        content = ": the samples' content differs" if difference.what == "batch" else ""
        return f"the same sample indices in both runs{content}"
    if difference.same_samples:
        return "the same sample indices in both runs, in another order"
    return "other sample indices"
