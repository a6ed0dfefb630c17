"""The loop of `study`, on trainings whose luck is known; the runs themselves are in test_study_real.

Covers `code_version.py`, `result.py`, `results_cache.py` and `tasks.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from samerun.errors import UsageError
from samerun.experiments.study.result import SourceSpread, StudyResult
from samerun.experiments.study.results_cache import FILE, Ledger
from samerun.experiments.study.study import StudyRequest, study
from samerun.experiments.study.tasks import Task, TaskResult
from samerun.report.text.study import describe_paired


@dataclass
class Luck:
    """A metric that is the sum of normal luck, one for each source, with these standard deviations."""

    deviations: dict[str, float]
    kernels: float = 0.0
    bonus: float = 0.0  # of commands that end with "better"
    crashes: frozenset[int] = frozenset()  # the seeds, of all together, with which the command fails
    stops_after: int | None = None
    made: list[Task] = field(default_factory=list)

    def carry_out(self, tasks: Sequence[Task]) -> Iterator[TaskResult]:
        for task in tasks:
            if self.stops_after is not None and len(self.made) >= self.stops_after:
                raise KeyboardInterrupt
            self.made.append(task)
            yield self._one(task)

    def _one(self, task: Task) -> TaskResult:
        seeds = set(task.seeds.values())
        if len(seeds) == 1 and seeds <= self.crashes:
            return TaskResult(task.key, None, "run", reason="exit code 1 after 3 steps")
        value = 1.0 + (self.bonus if task.command[-1] == "better" else 0.0)
        drawn = []
        for source, deviation in self.deviations.items():
            if deviation:
                drawn.append((source, task.seeds[source]))
                value += deviation * random.Random(f"{source} {task.seeds[source]}").gauss(0, 1)
        if task.mode == "seeded" and self.kernels:
            drawn.append(("kernels", task.repeat))
            value += self.kernels * random.Random(task.repeat).gauss(0, 1)
        return TaskResult(task.key, value, "run", f"bits {drawn}", 1.0)


def studied(luck: Luck, folder: Path, **asked: Any) -> StudyResult:
    wanted = {"command": ("python", "train.py"), "metric": "loss (.*)", **asked}
    return study(StudyRequest(folder=folder, root=folder / ".samerun", **wanted), luck.carry_out)


def of(result: StudyResult, source: str) -> SourceSpread:
    return next(item for item in result.sources if item.source == source)


def test_the_variance_of_each_source_is_found_and_adds_up(tmp_path: Path) -> None:
    luck = Luck({"initialisation": 0.03, "data-order": 0.01, "dropout": 0.0})
    result = studied(luck, tmp_path, seeds=40)
    assert result.complete
    for source, true in (("initialisation", 0.03), ("data-order", 0.01)):
        found = of(result, source).spread
        assert found is not None
        assert found.low <= true**2 <= found.high
    assert result.total is not None
    assert result.total.adds_up
    assert result.together is not None
    assert len(result.together.values) == 40


def test_a_source_that_is_not_in_play_has_exactly_zero_and_costs_two_runs(tmp_path: Path) -> None:
    luck = Luck({"initialisation": 0.03})
    result = studied(luck, tmp_path)
    for source in ("data-order", "dropout", "worker-seeds", "python-random", "numpy-global", "kernels"):
        found = of(result, source)
        assert not found.in_play
        assert found.spread is not None and found.spread.variance == 0.0
    assert sum(1 for task in luck.made if task.seeds["dropout"] and not task.seeds["data-order"]) == 2


def test_kernels_that_move_the_result_are_a_source_of_their_own(tmp_path: Path) -> None:
    result = studied(Luck({"initialisation": 0.03}, kernels=0.01), tmp_path)
    assert of(result, "kernels").in_play
    assert not of(result, "dropout").in_play


def test_everything_else_is_fixed_while_one_is_varied(tmp_path: Path) -> None:
    luck = Luck({"initialisation": 0.03, "dropout": 0.01})
    studied(luck, tmp_path)
    for task in luck.made:
        seeds = task.seeds
        moved = {source for source, seed in seeds.items() if seed}
        assert len(moved) in (0, 1, len(seeds))


def test_the_lucky_seed_is_named_with_how_lucky_it_is(tmp_path: Path) -> None:
    result = studied(Luck({"initialisation": 0.03}), tmp_path)
    assert result.together is not None and result.best is not None and result.worst is not None
    values = dict(zip(result.together.seeds, result.together.values, strict=True))
    assert result.best.value == max(values.values()) == values[result.best.seed]
    assert result.worst.value == min(values.values())
    assert result.best.deviations > 0 > result.worst.deviations
    lower = studied(Luck({"initialisation": 0.03}), tmp_path, higher_is_better=False)
    assert lower.best is not None and lower.best.value == result.worst.value


def test_a_better_command_is_told_from_one_that_is_alike(tmp_path: Path) -> None:
    luck = Luck({"initialisation": 0.03}, bonus=0.01)
    better = studied(luck, tmp_path, against=("python", "train.py", "better"))
    assert better.paired is not None
    assert better.paired.difference == pytest.approx(-0.01)
    assert better.paired.differs and better.paired.beats == 0.0
    alike = studied(luck, tmp_path, against=("python", "train.py", "--verbose"))
    assert alike.paired is not None
    assert alike.paired.ties == alike.paired.count == 20
    assert not alike.paired.differs
    assert describe_paired(alike, alike.paired).startswith("every pair is equal")
    fewer = replace(alike, seeds=21)  # one of them gave no metric
    assert describe_paired(fewer, alike.paired).startswith("no conclusion: 1 of 21 seeds")


def test_finished_runs_are_never_repeated(tmp_path: Path) -> None:
    first = Luck({"initialisation": 0.03, "dropout": 0.01}, stops_after=25)
    with pytest.raises(KeyboardInterrupt):
        studied(first, tmp_path)
    second = Luck({"initialisation": 0.03, "dropout": 0.01})
    result = studied(second, tmp_path)
    assert result.complete
    assert not {task.key for task in first.made} & {task.key for task in second.made}
    assert (result.made, result.known) == (len(second.made), 25)
    third = Luck({"initialisation": 0.03, "dropout": 0.01})
    again = studied(third, tmp_path)
    assert not third.made
    assert again.together == result.together


def test_other_code_is_not_taken_for_the_same_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("a = 1\n")
    studied(Luck({"initialisation": 0.03}), tmp_path)
    (tmp_path / "train.py").write_text("a = 2\n")
    luck = Luck({"initialisation": 0.03})
    assert studied(luck, tmp_path).known == 0
    assert luck.made


def test_a_line_cut_short_by_a_crash_loses_that_result_alone(tmp_path: Path) -> None:
    studied(Luck({"initialisation": 0.03}), tmp_path)
    ledger = tmp_path / ".samerun" / FILE
    whole = ledger.read_bytes()
    ledger.write_bytes(whole[:-40])
    luck = Luck({"initialisation": 0.03})
    assert studied(luck, tmp_path).complete
    assert len(luck.made) == 1
    assert studied(Luck({}), tmp_path).made == 0  # the line written after the broken one is whole


def test_runs_without_a_metric_are_said_and_tried_again_the_next_time(tmp_path: Path) -> None:
    result = studied(Luck({"initialisation": 0.03}, crashes=frozenset({3, 7})), tmp_path)
    assert not result.complete
    assert any("2 of 20 runs gave no metric (exit code 1" in note for note in result.notes)
    assert result.together is not None and 3 not in result.together.seeds
    mended = Luck({"initialisation": 0.03})
    assert studied(mended, tmp_path).complete
    assert len(mended.made) == 2


def test_a_command_that_fails_at_once_is_not_run_a_hundred_times(tmp_path: Path) -> None:
    luck = Luck({"initialisation": 0.03}, crashes=frozenset({0}))
    result = studied(luck, tmp_path)
    assert (result.complete, len(luck.made)) == (False, 1)
    assert result.reason == "exit code 1 after 3 steps"


def test_what_cannot_be_studied_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no seed to vary"):
        studied(Luck({}), tmp_path, sources=("threads",))
    with pytest.raises(UsageError, match="5 or more"):
        studied(Luck({}), tmp_path, seeds=4)


def test_a_ledger_that_is_no_ledger_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"done": {"key": 1}}\nnonsense\n\x00\n[]\n')
    task = Task(("python",), ".", ".", "a (.)", {})
    assert Ledger(tmp_path).get(task) is None
