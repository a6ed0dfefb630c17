"""`resume`: kills a command, resumes it, and compares with the run never stopped; then kills twice."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from samerun.comparing.comparison import Comparison
from samerun.comparing.in_play import list_ids
from samerun.comparing.pairing import read
from samerun.experiments import run_outcome, scope
from samerun.experiments.check.confirm import explain_and_confirm
from samerun.experiments.check.zoom import is_of_results, stop_after
from samerun.experiments.leftover_files import list_files_left
from samerun.experiments.resume.advice import Lack
from samerun.experiments.resume.attempts import Attempts, ResumeRequest, copy_folder
from samerun.experiments.resume.audit import audit_files, list_saved
from samerun.experiments.resume.compare_resumed import (
    KilledRun,
    Resumption,
    compare_repeated,
    compare_resumed,
    saves_the_same,
)
from samerun.experiments.resume.preconditions import (
    describe_failed,
    describe_start,
    explain_not_stopped,
    explain_unfit,
)
from samerun.experiments.resume.result import ResumeResult
from samerun.experiments.resume.resume_step import has_trained
from samerun.experiments.resume.second_kill import choose_second_kill
from samerun.experiments.runner import Runner
from samerun.explaining.cause import Cause
from samerun.explaining.confirm import find_position
from samerun.explaining.explained import Explained
from samerun.runs.difference import Difference
from samerun.runs.schema import PHASES
from samerun.runs.secrets_in_text import hide_secrets
from samerun.runs.store import Run
from samerun.sources.resume_state import ResumeState

_FROM_THE_FIRST = (
    "both resumes went on from step {}: no checkpoint that a resumed process wrote was tried; for that, kill "
    "later, and let the command find the newest checkpoint by itself"
)
_CAUSES = 2  # named when the command is not repeatable by itself


def resume(request: ResumeRequest, runner: Runner | None = None) -> ResumeResult:
    """Whether the request's command, killed and resumed, gives the bits of the run that was never stopped.

    Raises KeyboardInterrupt after Ctrl-C, with the runs recorded so far whole on disk, and what
    `launching.run.record` raises when a command cannot be started.
    """
    return _Experiment(request, Attempts(request, runner or Runner())).run()


@dataclass
class _Experiment:
    """One experiment; what it has recorded so far."""

    request: ResumeRequest
    attempts: Attempts
    runs: list[Run] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    losses: list[Mapping[int, tuple[float, ...]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    killed: list[KilledRun] = field(default_factory=list)
    resumptions: list[Resumption] = field(default_factory=list)  # those that were not killed again
    audited: Callable[[], Sequence[str]] = tuple  # what an audit says of the checkpoints gone on from

    def run(self) -> ResumeResult:
        request = self.request
        with copy_folder(request.folder, request.command) as folder:
            whole = self.attempts.record("never stopped", request.command, folder, stop_after=self._last())
            self._told(whole, "never stopped", {})
            if note := describe_start(whole):
                self.notes.append(note)
            if reason := explain_unfit(whole, request):
                return self._unknown(reason, whole)
        with copy_folder(request.folder, request.command) as folder:
            at = request.kill_at
            stage = f"killed at step {at}"
            killed = self.attempts.record(stage, request.command, folder, stop_after=at - 1)
            comparison = compare_repeated(whole, killed, request.steps)
            self.losses[0] = comparison.losses[0]
            self._told(killed, stage, comparison.losses[1])
            if reason := self._not_repeatable(comparison) or explain_not_stopped(killed, at):
                return self._unknown(reason, killed)
            if comparison.verdict != "same":
                return self._unknown(f"the killed run: {comparison.reason}", killed)
            self.killed.append(KilledRun(killed, at))
            with copy_folder(folder, request.resume_with) as as_left:
                return self._once(whole, folder, as_left)

    def _once(self, whole: Run, folder: Path, as_left: Path) -> ResumeResult:
        """Resume in `folder`; `as_left` is a copy of it as it was when the command was killed."""
        request = self.request
        resumed = self.attempts.record("resumed", request.resume_with, folder, stop_after=self._last())
        found = list_files_left(resumed, as_left, whole)
        self.audited = functools.cache(functools.partial(audit_files, as_left, tuple(found)))
        back = self._held(whole, resumed, "resumed")
        outside = [path for path in found if path.is_absolute()]
        if outside:
            self.notes.append(
                f"it read {outside[0]}, outside its working directory, which samerun cannot restore: the "
                "second kill is skipped, and what an earlier run left there can be found too"
            )
        result = self._verdict(whole, back)
        if result is None:
            return self._same() if outside else self._twice(whole, back, as_left)
        if result.verdict != "differs":
            return result
        return replace(result, notes=(*result.notes, *self.audited()))

    def _twice(self, whole: Run, once: Resumption, folder: Path) -> ResumeResult:
        """Resume in `folder`, kill again, and resume again; the first resume gave the same."""
        request = self.request
        last = min(whole.steps, request.steps or whole.steps) - 1
        began = 0 if once.position is None else once.position.step
        traces = [next(filter(has_trained, read(run).compared)) for run in (whole, once.run)]
        second = choose_second_kill(traces[0], traces[1], began, request.kill_at, last)
        if second is None:
            self.notes.append(
                f"not killed a second time: no step is left after step {request.kill_at}; kill it earlier"
            )
            return self._same()
        if second.same_epoch is False:
            self.notes.append(
                f"step {request.kill_at} is the last of its epoch: the second kill is in the next; to kill "
                "twice in one epoch, kill it earlier"
            )
        stage = f"killed again at step {second.step}"
        stop = second.step - began - 1
        again = self.attempts.record(stage, request.resume_with, folder, stop_after=stop)
        back = self._held(whole, again, stage)
        if result := self._verdict(whole, back):
            return result
        if reason := explain_not_stopped(again, second.step):
            return self._unknown(reason, again)
        self.resumptions.pop()  # it stands for the part up to the kill alone
        began = 0 if back.position is None else back.position.step
        self.killed.append(KilledRun(again, second.step, began))
        final = self.attempts.record("resumed again", request.resume_with, folder, stop_after=self._last())
        back = self._held(whole, final, "resumed again")
        if back.position is not None and back.position.step == began:
            self.notes.append(_FROM_THE_FIRST.format(began))
        return self._verdict(whole, back) or self._same()

    def _held(self, whole: Run, run: Run, role: str) -> Resumption:
        """The run held against the whole one."""
        back = compare_resumed(
            whole, self.killed, run, self.request.steps, lambda: list_saved(self.audited())
        )
        self.resumptions.append(back)
        where = "" if back.position is None else f", from step {back.position.step}"
        if back.position is not None and back.position.by == "kill":
            self.notes.append("from which step it went on is not known; its steps are counted from the kill")
        self._told(run, role + where, back.comparison.losses[1])
        self.notes += back.comparison.notes
        return back

    def _last(self) -> int | None:
        """The step after which a resumed run is ended: it may have begun anew."""
        return None if self.request.steps is None else self.request.steps - 1

    def _told(self, run: Run, role: str, losses: Mapping[int, tuple[float, ...]]) -> None:
        self.runs.append(run)
        self.roles.append(role)
        self.losses.append(losses)

    # --- verdicts ------------------------------------------------------------------------------------

    def _not_repeatable(self, comparison: Comparison) -> str | None:
        """Why nothing can be said of a resume: the command parts from itself before it is killed."""
        difference = comparison.difference
        if difference is None or run_outcome.is_crash(comparison, self.runs):
            return None
        causes = explain_and_confirm(Explained(difference), None).causes[:_CAUSES]
        self.notes += [f"likely cause: {cause.source}, {cause.evidence}" for cause in causes]
        return (
            f"two runs diverge even without a resume, at step {difference.step}, in {difference.phase}: "
            "first make them the same (samerun check says how), or add --controlled"
        )

    def _verdict(self, whole: Run, back: Resumption) -> ResumeResult | None:
        """The result, if it is decided: the run parts from the whole one, or cannot be compared."""
        comparison = back.comparison
        crashed = run_outcome.is_crash(comparison, [whole, back.run])
        if comparison.difference is not None and not crashed:
            return self._differs(whole, back, comparison.difference)
        if back.run.outcome not in run_outcome.WHOLE:
            agrees = f"; its {back.steps} steps agree with the whole run's" if back.steps else ""
            return self._unknown(describe_failed(back.run) + agrees, back.run)
        if comparison.verdict != "same":
            return self._unknown(comparison.reason or "the runs cannot be compared", back.run)
        return None

    def _differs(self, whole: Run, back: Resumption, difference: Difference) -> ResumeResult:
        confirmed = self._confirmed(whole, difference)
        if confirmed is None:
            return self._unknown(
                f"the resumed run diverges at step {difference.step}, and so does a further run that was "
                "never stopped: first make them the same (samerun check says how), or add --controlled",
                back.run,
            )
        result = replace(
            self._result(),
            verdict="differs",
            difference=difference,
            pair=(whole.id, back.run.id),
            lacked=back.lacks,
            causes=tuple(_make_cause(lack, confirmed) for lack in back.lacks),
            output=run_outcome.read_last_lines([back.run]),
        )
        if back.run.outcome not in run_outcome.WHOLE:
            return replace(result, notes=(*result.notes, describe_failed(back.run)))
        return result

    def _confirmed(self, whole: Run, difference: Difference) -> bool | None:
        """Whether the command without a resume does not part there; None when it does.

        The run that was killed tells for all that it reached, and so does a first resume that gave the same.
        """
        request = self.request
        if len(self.resumptions) > 1 or find_position(difference) < (
            request.kill_at,
            PHASES.index("optimizer"),
        ):
            return True
        if not request.confirm:
            return False
        stops = [stop for stop in (stop_after(difference), self._last()) if stop is not None]
        with copy_folder(request.folder, request.command) as folder:
            stop = min(stops, default=None)
            again = self.attempts.record("confirming", request.command, folder, stop_after=stop)
        comparison = compare_repeated(whole, again, request.steps)
        if comparison.difference is None:
            if is_of_results(difference) and not saves_the_same(whole, again):
                return None
            return comparison.verdict == "same"
        return None if find_position(comparison.difference) <= find_position(difference) else True

    def _same(self) -> ResumeResult:
        return replace(self._result(), verdict="same")

    def _unknown(self, reason: str, run: Run) -> ResumeResult:
        return replace(self._result(), reason=reason, output=run_outcome.read_last_lines([run]))

    def _result(self) -> ResumeResult:
        """What is known whatever the verdict; it is unknown until something shows otherwise."""
        request = self.request
        told: dict[str, Any] = {}
        if self.resumptions:
            compared = [
                replace(back.comparison, scope=replace(back.comparison.scope, steps=back.steps))
                for back in self.resumptions
            ]
            told = {"scope": scope.describe_scope(compared), "steps": self.resumptions[-1].steps}
        began = [item.began for item in self.killed[1:]]
        if self.resumptions and (found := self.resumptions[-1].position) is not None:
            began.append(found.step)
        return ResumeResult(
            "unknown",
            tuple(run.id for run in self.runs),
            command=hide_secrets(request.command),
            folder=str(request.folder),
            losses=tuple(self.losses),
            notes=tuple(dict.fromkeys(self.notes)),
            controlled=request.control is not None,
            place=str(request.store.runs),
            in_play=list_ids(self.runs[0]) if self.runs else (),
            roles=tuple(self.roles),
            resume_with=hide_secrets(request.resume_with),
            kill_at=tuple(item.at for item in self.killed),
            resumed_at=tuple(began),
            **told,
        )


def _make_cause(lack: Lack, confirmed: bool) -> Cause:
    return Cause(ResumeState.id, confirmed, lack.advice, f"{lack.what}: {lack.evidence}")
