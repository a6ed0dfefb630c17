"""An answer held against the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scoring.answer import Answer, Said
from scoring.case import Case, Fault
from scoring.copying import Line

ASPECTS = ("source", "step", "phase", "operation", "line")


@dataclass(frozen=True)
class Score:
    """How an answer did. `top1` and `top3` map an aspect to right or wrong; absent: it was not asked for."""

    case: Case
    answer: Answer
    top1: dict[str, bool] = field(default_factory=dict)
    top3: dict[str, bool] = field(default_factory=dict)
    missed: tuple[str, ...] = ()  # planted, and not named as a cause
    invented: tuple[str, ...] = ()  # named as a cause, and not planted
    patched: str | None = None  # the verdict of `check` with the patch offered; None: none was offered
    plain: float | None = (
        None  # seconds of a plain run, the median of two before the diagnosis and two after it
    )

    @property
    def false_same(self) -> bool:
        """The worst that can be said: that runs which differ are the same."""
        return not self.case.clean and not self.case.rare and self.answer.verdict == "same"

    @property
    def false_alarm(self) -> bool:
        """Something was found in a clean script."""
        return self.case.clean and self.answer.verdict != "same"

    @property
    def counted(self) -> bool:
        """A faulty script whose fault fired: what it says of its cause counts."""
        return not self.case.clean and not (self.case.rare and self.answer.verdict == "same")

    @property
    def units(self) -> float | None:
        """The time of the answer in plain runs."""
        return self.answer.seconds / self.plain if self.plain else None


def judge(case: Case, answer: Answer, lines: Sequence[Line]) -> Score:
    """Hold one answer against the truth; of several faults, the first is the one that top 1 is about."""
    score = Score(case, answer)
    if not case.clean:
        first = case.faults[0]
        tests = _tests(first, lines)
        for aspect, right in tests.items():
            score.top1[aspect] = any(right(said) for said in answer.causes[:1])
            score.top3[aspect] = any(right(said) for said in answer.said[:3])
    named = [said.source for said in answer.causes]
    allowed = {source for fault in case.faults for source in fault.sources}
    missed = tuple(fault.source for fault in case.faults if not set(fault.sources) & set(named))
    invented = tuple(dict.fromkeys(source for source in named if source not in allowed))
    return Score(case, answer, score.top1, score.top3, missed, invented)


def _tests(fault: Fault, lines: Sequence[Line]) -> dict[str, Callable[[Said], bool]]:
    places = {(line.file, line.number) for line in lines if line.source == fault.source}
    tests: dict[str, Callable[[Said], bool]] = {"source": lambda said: said.source in fault.sources}
    if fault.step:
        tests["step"] = lambda said: said.step in fault.step
    if fault.phase:
        tests["phase"] = lambda said: said.phase in fault.phase
    if fault.operation:
        tests["operation"] = lambda said: said.operation in fault.operation
    if places:
        tests["line"] = lambda said: said.line in places
    return tests
