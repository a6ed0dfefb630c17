"""`study`: how much of a command's metric is luck, and which random numbers it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from samerun.errors import UsageError
from samerun.experiments.progress import Listener
from samerun.experiments.study import metric
from samerun.experiments.study.code_version import digest_code
from samerun.experiments.study.paired_test import PairedTest, compare_paired
from samerun.experiments.study.result import SourceSpread, StudyResult
from samerun.experiments.study.results_cache import Ledger
from samerun.experiments.study.tasks import Task, TaskResult
from samerun.experiments.study.variance import (
    LEAST,
    compute_mean_interval,
    measure_luck,
    seeds_needed,
    spread,
    sum_up,
)
from samerun.runs.secrets_in_text import hide_secrets
from samerun.sources.catalogue import labelled

KERNELS = "kernels"
_PROBES = 2  # other seeds that must give the same bits for a source to count as not in play

CarryOut = Callable[[Sequence[Task]], Iterator[TaskResult]]


@dataclass(frozen=True)
class StudyRequest:
    """What a study is asked for."""

    command: tuple[str, ...]
    folder: Path
    root: Path  # of the store: results are kept beside its runs
    metric: str
    seeds: int = 20
    sources: tuple[str, ...] = ()  # ids, or "kernels"; (): all of them
    against: tuple[str, ...] = ()
    higher_is_better: bool = True
    precision: float | None = None  # of the mean, in units of the metric
    mode: str = "strict"
    steps: int | None = None
    timeout: float | None = None
    scratch: bool = False
    threads: int | None = None  # of each run, where several share the machine


def study(
    asked: StudyRequest,
    carry_out: CarryOut,
    listener: Listener | None = None,
    logged: Callable[[Task, TaskResult], None] | None = None,
) -> StudyResult:
    """Vary the seed of each source alone and of all together; `carry_out` runs the tasks.

    `logged` is told of every result, those known from earlier as well. Raises UsageError for a metric or a
    source that cannot be, RunError when results cannot be kept. Results kept before an error or Ctrl-C are
    not made again.
    """
    metric.check(asked.metric)
    if asked.seeds < LEAST:
        raise UsageError(f"--seeds {asked.seeds}: a variance needs {LEAST} or more for its interval")
    _check(asked.sources)
    return _Study(asked, carry_out, listener or Listener(), logged).result()


def _studied() -> dict[str, str]:
    return labelled(lambda source: source.studied_as)


def _check(sources: Sequence[str]) -> None:
    known = (*_studied(), KERNELS)
    for id_ in sources:
        if id_ not in known:
            raise UsageError(f"--sources {id_}: it has no seed to vary; known: {', '.join(known)}")


class _Study:
    """One study at work."""

    def __init__(
        self,
        asked: StudyRequest,
        carry_out: CarryOut,
        listener: Listener,
        logged: Callable[[Task, TaskResult], None] | None,
    ) -> None:
        self.asked = asked
        self.notes: list[str] = []
        self.made = self.known = self.lost = 0
        self._carry_out = carry_out
        self._listener = listener
        self._logged = logged
        self._ledger = Ledger(asked.root)
        self._ids = list(_studied())
        self._seen: set[str] = set()
        self._codes: dict[tuple[str, ...], str] = {}

    def result(self) -> StudyResult:
        """Carry out whatever is not known yet, then count."""
        asked = self.asked
        result = StudyResult(
            hide_secrets(asked.command),
            asked.metric,
            seeds=asked.seeds,
            against=hide_secrets(asked.against),
            higher_is_better=asked.higher_is_better,
            place=str(asked.root),
        )
        base = self._all([self._task({})], "with every seed at 0")[0]
        if base.value is None:
            return replace(result, reason=base.reason, made=self.made)
        studied = len(asked.sources or (*self._ids, KERNELS))
        self._listener.ahead(studied * max(asked.seeds, _PROBES) + asked.seeds * (2 if asked.against else 1))
        sources = self._alone(base)
        seeds = tuple(range(1, asked.seeds + 1))
        together = self._spread("together", "all of them together", [self._together(seed) for seed in seeds])
        result = replace(result, sources=tuple(sources), together=together)
        result = self._judged(result, sources, together)
        if asked.against:
            result = self._compared(result, together)
        return replace(
            result,
            complete=result.reason is None and not self.lost,
            made=self.made,
            known=self.known,
            notes=tuple(self.notes),
        )

    # --- each source alone ---------------------------------------------------------------------------

    def _alone(self, base: TaskResult) -> list[SourceSpread]:
        wanted = self.asked.sources or (*self._ids, KERNELS)
        probes = {id_: [self._varied(id_, seed) for seed in range(1, _PROBES + 1)] for id_ in wanted}
        done = self._all([task for tasks in probes.values() for task in tasks], "which sources are in play")
        by_key = {item.key: item for item in done}
        found = []
        for id_, tasks in probes.items():
            prints = {by_key[task.key].fingerprint for task in tasks}
            still = prints == ({base.fingerprint} if id_ != KERNELS else prints) and len(prints) == 1
            if still and "" not in prints and all(by_key[task.key].value is not None for task in tasks):
                found.append(self._idle(id_))
                continue
            every = [self._varied(id_, seed) for seed in range(1, self.asked.seeds + 1)]
            found.append(self._spread(id_, self._what(id_), every))
        return found

    def _idle(self, id_: str) -> SourceSpread:
        return SourceSpread(id_, self._what(id_), spread([0.0] * LEAST), in_play=False)

    def _what(self, id_: str) -> str:
        return _studied().get(id_, "kernels and threads: what differs with every seed fixed (mode seeded)")

    def _spread(self, id_: str, what: str, tasks: Sequence[Task]) -> SourceSpread:
        done = self._all(tasks, what)
        kept = [(at, item.value) for at, item in enumerate(done, start=1) if item.value is not None]
        lost = len(tasks) - len(kept)
        if lost:
            self.lost += lost
            reason = next(item.reason for item in done if item.value is None)
            self.notes.append(f"{id_}: {lost} of {len(tasks)} runs gave no metric ({reason})")
        values = tuple(value for _, value in kept)
        return SourceSpread(
            id_,
            what,
            spread(values) if len(values) >= LEAST else None,
            tuple(seed for seed, _ in kept),
            values,
        )

    # --- what it comes to ----------------------------------------------------------------------------

    def _judged(
        self, result: StudyResult, sources: Sequence[SourceSpread], together: SourceSpread
    ) -> StudyResult:
        if together.spread is None:
            return replace(result, reason=f"fewer than {LEAST} runs with all seeds varied gave a metric")
        known = [source.spread for source in sources if source.spread is not None]
        whole = not self.asked.sources and len(known) == len(sources)
        ranked = sorted(
            zip(together.values, together.seeds, strict=True), reverse=self.asked.higher_is_better
        )
        deviation = together.spread.deviation
        precisions = [deviation / part for part in (1, 2, 4)] if deviation else []
        if self.asked.precision is not None:
            precisions = [self.asked.precision]
        return replace(
            result,
            mean=compute_mean_interval(together.values),
            total=sum_up(known, together.spread) if whole else None,
            best=measure_luck(together.seeds, together.values, ranked[0][1]),
            worst=measure_luck(together.seeds, together.values, ranked[-1][1]),
            needed=tuple((precision, seeds_needed(deviation, precision)) for precision in precisions),
        )

    def _compared(self, result: StudyResult, together: SourceSpread) -> StudyResult:
        other = replace(self.asked, command=self.asked.against)
        tasks = [self._together(seed, other) for seed in range(1, self.asked.seeds + 1)]
        b = self._spread("against", "the other command, with the same seeds", tasks)
        b_values = dict(zip(b.seeds, b.values, strict=True))
        pairs = [
            (value, b_values[seed])
            for seed, value in zip(together.seeds, together.values, strict=True)
            if seed in b_values
        ]
        if len(pairs) < 2:
            return replace(result, reason="fewer than two pairs of runs gave a metric")
        found = compare_paired([a for a, _ in pairs], [b for _, b in pairs], self.asked.higher_is_better)
        return replace(result, paired=found, needed_for_difference=_needed(found, pairs))

    # --- tasks ---------------------------------------------------------------------------------------

    def _task(self, seeds: Mapping[str, int], asked: StudyRequest | None = None, repeat: int = 0) -> Task:
        asked = asked or self.asked
        return Task(
            asked.command,
            str(asked.folder),
            str(asked.root),
            asked.metric,
            {**dict.fromkeys(self._ids, 0), **seeds},
            asked.mode,
            asked.steps,
            asked.timeout,
            asked.scratch or metric.is_in_file(asked.metric),
            asked.threads,
            self._code(asked.command),
            repeat,
        )

    def _code(self, command: tuple[str, ...]) -> str:
        if command not in self._codes:
            self._codes[command] = digest_code(command, self.asked.folder)
        return self._codes[command]

    def _varied(self, id_: str, seed: int) -> Task:
        """One source has another seed; the kernels have none, and are only let go."""
        if id_ != KERNELS:
            return self._task({id_: seed})
        return self._task({}, replace(self.asked, mode="seeded"), repeat=seed)

    def _together(self, seed: int, asked: StudyRequest | None = None) -> Task:
        return self._task(dict.fromkeys(self._ids, seed), asked)

    def _all(self, tasks: Sequence[Task], stage: str) -> list[TaskResult]:
        """What became of each task, in their order; only those that are not known are carried out."""
        found = {task.key: done for task in tasks if (done := self._ledger.get(task)) is not None}
        by_key = {task.key: task for task in tasks}
        for key in found.keys() - self._seen:
            self.known += 1
            self._tell(by_key[key], found[key])
        waiting = [task for key, task in by_key.items() if key not in found]
        self._listener.stage(stage)
        for number, done in enumerate(self._carry_out(waiting) if waiting else (), start=1):
            task = by_key[done.key]
            self._listener.run_started(number, len(waiting), self.asked.steps)
            if done.value is not None:
                self._ledger.add(task, done)
            self.made += 1
            found[done.key] = done
            self._tell(task, done)
            said = "finished" if done.value is not None else "failed"
            self._listener.run_ended(done.run, done.steps, said, done.seconds)
        self._seen |= found.keys()
        return [found[task.key] for task in tasks]

    def _tell(self, task: Task, done: TaskResult) -> None:
        if self._logged is not None:
            self._logged(task, done)


def _needed(found: PairedTest, pairs: Sequence[tuple[float, float]]) -> int | None:
    """How many seeds would make the interval of the difference exclude zero, if it is as large as seen."""
    import numpy as np

    deviation = float(np.std([a - b for a, b in pairs], ddof=1))
    return None if found.difference == 0 else seeds_needed(deviation, abs(found.difference))
