"""Where two runs part, in words, with the source lines around it."""

from __future__ import annotations

from pathlib import Path

from rich.text import Text

from samerun.report.plain import Hung, Line, styled
from samerun.runs.difference import Difference, Origin

_CONTEXT = 2  # lines before and after
_LONGEST_SOURCE = 4 << 20  # bytes; beyond that a file is data

_WORDS = {
    "batch": "the batch",
    "input": "what went into the model",
    "output": "what came out of the model",
    "loss": "the loss",
    "gradients": "the gradients",
    "parameters": "the parameters",
    "buffers": "the buffers",
    "optimizer": "the optimizer's state",
    "saved": "what was saved",
    "operation": "an operation",
    "end": "how the run ended",
}
_KINDS = {
    "value": "",
    "order": "the same in both runs, in another order",
    "flow": "only one of the runs has it",
    "ended": "one of the runs ends here",
}


def headline(difference: Difference) -> str:
    """Where, in one phrase: "at step 0, in setup"."""
    rank = f", on rank {difference.rank}" if difference.rank else ""
    return f"at step {difference.step}, in {difference.phase}{rank}"


def describe(difference: Difference, folder: str, pair: tuple[str, str] | None) -> list[Line]:
    """The lines that say where the runs of `pair` part; call sites are relative to `folder`."""
    lines: list[Line] = []
    if pair is not None:
        lines.append(_field("runs", f"A {pair[0]}, B {pair[1]}"))
    lines.append(_field("where", f"step {difference.step}, {difference.phase}, {difference.process}"))
    lines.append(_field("what", _what(difference)))
    op = difference.op or (difference.origin.op if difference.origin else None)
    module = difference.module or (difference.origin.module if difference.origin else None)
    if module:
        lines.append(_field("module", module))
    if op:
        lines.append(_field("operation", op))
    if difference.origin is not None:
        lines.append(_field("", _origin(difference.origin)))
    if sampled := _samples(difference):
        lines.append(_field("samples", sampled))
    if site := call_site(difference):
        lines.append(_field("line", site))
        lines.extend(excerpt(site, folder))
    return lines


def call_site(difference: Difference) -> str | None:
    """The line of the user's code, as `file.py:31`."""
    return difference.call_site or (difference.origin.call_site if difference.origin else None)


def excerpt(site: str, folder: str) -> list[Text]:
    """The source line and its neighbours as the file reads now; [] when it is not there any more."""
    name, _, number = site.rpartition(":")
    if not name or not number.isdigit():
        return []
    path = Path(folder) / name
    try:
        if not path.is_file() or path.stat().st_size > _LONGEST_SOURCE:
            return []
        source = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return []
    here = int(number)
    if not 1 <= here <= len(source):
        return []
    return [
        _source_line(line, source[line - 1], here)
        for line in range(max(1, here - _CONTEXT), min(len(source), here + _CONTEXT) + 1)
    ]


def _source_line(number: int, text: str, here: int) -> Text:
    mark = "→" if number == here else " "
    body = styled(text.expandtabs(4).rstrip(), "bold" if number == here else "dim")
    line = Text(f"  {mark} {number:>4} │ ", style="red" if number == here else "dim")
    return line.append_text(body)


def _field(name: str, value: str) -> Line:
    return Hung(Text(f"  {name:<10}", style="dim"), styled(value))


def _what(difference: Difference) -> str:
    what = _WORDS.get(difference.what, difference.what)
    name = "" if not difference.name or difference.what == "operation" else f": {difference.name}"
    kind = _KINDS[difference.kind]
    return f"{what}{name}" + (f" ({kind})" if kind else "")


def _origin(origin: Origin) -> str:
    if origin.op.split(".")[1:2] in (["lift_fresh"], ["from_numpy"], ["frombuffer"], ["as_tensor"]):
        return "data comes into torch here, and is not the same"
    if not origin.inputs_equal:
        return "its inputs differ, though no operation before it does: they came from outside torch"
    said = ["equal inputs, different outputs"]
    if origin.draws:
        state = {True: "whose state differs", False: "whose state is equal", None: "whose state is not known"}
        said.append(f"it draws from a generator {state[origin.generator_differs]}")
    if origin.reads_uninitialized:
        said.append("it reads memory that nothing has written")
    return "; ".join(said)


def _samples(difference: Difference) -> str:
    if difference.indices_equal is None:
        return ""
    if difference.indices_equal:
        return "the same sample indices in both runs: the samples' content differs"
    if difference.same_samples:
        return "the same sample indices in both runs, in another order"
    return "other sample indices"
