"""`verify`: run a locked command once more, and compare with its lock."""

from __future__ import annotations

from dataclasses import replace

from samerun.comparing.compare_runs import compare_whole
from samerun.comparing.pairing import read
from samerun.experiments import run_outcome
from samerun.experiments.check.diff import diff
from samerun.experiments.lock.build import build_environment, fit
from samerun.experiments.lock.draw_counts import DRAWS, count_draws, describe_counts
from samerun.experiments.lock.leaves_file import read_leaves
from samerun.experiments.lock.moved import Moved, find_moved
from samerun.experiments.lock.observed import NAMES, Observed, observe
from samerun.experiments.lock.roots import ALL
from samerun.experiments.runner import Runner
from samerun.experiments.trials import Trials
from samerun.experiments.verify.bounded import measure_distances
from samerun.experiments.verify.changed import list_changed
from samerun.experiments.verify.changed_line import add_lines, find_changed_line
from samerun.experiments.verify.confirm import Suspicion, confirm_difference
from samerun.experiments.verify.held import Held, find_held
from samerun.experiments.verify.inputs_now import digest_now
from samerun.experiments.verify.request import VerifyRequest
from samerun.experiments.verify.result import VerifyResult
from samerun.experiments.verify.segment import Segment, find_segment
from samerun.experiments.what_counts import list_unjudged, weigh
from samerun.runs.lock.content import Environment, Lock
from samerun.runs.plan import Control
from samerun.runs.store import Run
from samerun.sources.catalogue import find_sources


def verify(asked: VerifyRequest, runner: Runner | None = None) -> VerifyResult:
    """Whether the command still gives the locked bits; if not, since what.

    Raises RunError for leaves that are not those of the lock, and what `Runner.run` raises.
    """
    request, lock = asked.request, asked.lock
    result = VerifyResult(
        "unknown",
        str(asked.path),
        command=lock.command,
        folder=str(request.folder),
        place=str(request.store.runs),
        exact=asked.exact,
    )
    if reason := explain_stale(asked):
        return replace(result, verdict="stale", reason=reason, update=_write_update(asked))
    given = None if asked.leaves is None else read_leaves(asked.leaves)
    trials = Trials(request, runner)
    (run,) = trials.record("recording", 1, request.plan)
    result = replace(result, run=run.id)
    if failure := run_outcome.explain_failure([run], parted=False):
        return replace(result, reason=failure, output=run_outcome.read_last_lines([run]))
    observed = observe(run, request.steps, lock.left_out)
    held = find_held(asked, observed, given)
    if asked.checkpoint is not None:
        return judge_segment(asked, result, find_segment(observed, held, asked.checkpoint))
    result = judge(asked, result, observed, held, asked.limit)
    if result.verdict == "differs" and request.confirm:
        result = confirm_difference(Suspicion(asked, result, observed, held), trials)
    return add_environment(asked, result, observed, trials) if asked.add else result


def judge_segment(asked: VerifyRequest, result: VerifyResult, segment: Segment | str) -> VerifyResult:
    """The answer on a run that goes on from a checkpoint: on the steps that it made alone."""
    if isinstance(segment, str):
        return replace(result, reason=segment)
    lock, observed, held = asked.lock, segment.observed, segment.held
    if not any(step.digests and step.at < observed.steps for step in held.steps):
        reason = f"the lock has none of the steps {segment.first} to {observed.steps - 1} by itself"
        return replace(result, reason=f"{reason}; keep all of them with lock --leaves FILE")
    to_the_end = asked.request.steps is None
    result = judge(asked, result, observed, held, observed.steps + to_the_end)
    result = replace(result, first_step=segment.first, quantities=segment.quantities)
    if to_the_end and observed.steps != lock.steps:
        note = f"it goes on to step {observed.steps - 1}, and the locked run to step {lock.steps - 1}"
        moved = result.moved or (Moved("end", min(observed.steps, lock.steps), exact=True),)
        result = replace(result, verdict="differs", moved=moved, notes=(*result.notes, note))
    if result.verdict == "differs":
        note = "samerun resume tells whether the checkpoint holds all that the training needs to go on"
        return replace(result, notes=(*result.notes, note))
    return result


def add_environment(
    asked: VerifyRequest, result: VerifyResult, observed: Observed, trials: Trials
) -> VerifyResult:
    """With the lock to which this class of machine is added, where a second run gives the same bits."""
    lock, id_ = asked.lock, observed.environment.id
    why = None
    if id_ in lock.environments:
        why = "it is there already"
    elif not _is_portably_equal(lock, observed):
        why = "what must hold on every machine does not"
    if why is not None:
        return replace(result, notes=(*result.notes, f"environment {id_} was not added: {why}"))
    runs = [observed.run, *trials.record("recording again, to add it", 1, asked.request.plan)]
    (comparison,) = weigh(runs, compare_whole(runs, steps=asked.request.steps))
    made = build_environment(observed)
    again = observe(runs[1], asked.request.steps, lock.left_out)
    if comparison.verdict != "same" or find_moved(made, again):
        note = f"environment {id_} was not added: two runs here do not give the same bits"
        return replace(result, notes=(*result.notes, note))
    return replace(result, lock=fit(replace(lock, environments={**lock.environments, id_: made})))


def explain_stale(asked: VerifyRequest) -> str | None:
    """Why the lock is not of what would be run here, None where it is."""
    lock = asked.lock
    if _is_of_other_command(asked):
        return "the command is not the locked one"
    if asked.any_inputs:
        return None
    now = digest_now(asked.request.folder, lock.inputs, "file")
    changed = [
        f"{name} is gone" if digest is None else _describe_input(asked, name)
        for name, digest in now.items()
        if digest != lock.inputs[name]
    ]
    return f"inputs are not those of the lock: {', '.join(changed[:_MOST])}" if changed else None


def _is_of_other_command(asked: VerifyRequest) -> bool:
    return asked.checkpoint is None and asked.command not in (None, asked.lock.command)


def _write_update(asked: VerifyRequest) -> tuple[str, ...]:
    """The words that lock another command with the control of the lock: `lock --update -- COMMAND`.

    () where the command is the locked one.
    """
    if not _is_of_other_command(asked):
        return ()
    known = find_sources()
    lock = asked.lock
    plain = Control()
    words = ["samerun", "lock", "--update"]
    words += ["--mode", lock.mode] if lock.mode != plain.mode else []
    words += ["--seed", str(lock.seed)] if lock.seed != plain.seed else []
    words += ["--compatible"] if lock.compatible else []
    words += ["--steps", str(lock.limit)] if lock.limit is not None else []
    for source in lock.control:
        value = "=nan" if lock.fill == "nan" and source in known and known[source].fills else ""
        words += ["--control", f"{source}{value}"]
    return (*words, "--", *asked.request.command)


def _describe_input(asked: VerifyRequest, name: str) -> str:
    """With its first changed line, where it is a text that git has as it was locked."""
    lock, folder = asked.lock, asked.request.folder
    line = find_changed_line(folder, name, lock.inputs[name], lock.code.commit, "file")
    return f"{name} changed" if line is None else f"{name} changed ({line})"


_MOST = 5  # that are named
_NO_RESULT_MOVED = "draws alone moved: no batch, loss, weight or result that the lock holds did"


def judge(
    asked: VerifyRequest, result: VerifyResult, observed: Observed, held: Held, limit: int | None
) -> VerifyResult:
    """The answer on a run that did what it was asked to; with `limit` on its steps below it alone."""
    lock, locked = asked.lock, held.environment
    moved = held.find_moved(observed, limit)
    changed = add_lines(lock, asked.request.folder, list_changed(lock, locked, observed))
    whole = limit is None
    result = replace(
        result,
        environment=observed.environment.id,
        locked_environment=held.id,
        steps=observed.steps,
        at=None
        if whole or held.leaves is not None
        else tuple(step.at for step in locked.steps if step.at < observed.steps),
        quantities=tuple(name for name in locked.root if name != ALL),
        moved=moved,
        changed=changed,
    )
    if not any(step.at < observed.steps and step.digests for step in held.steps):
        return replace(result, reason=f"the lock holds no step below {observed.steps}")
    if not moved:
        names = whole and lock.portable.get(NAMES) != observed.structure[NAMES]
        notes = ["parameters or buffers have other names than the locked ones"] if names else []
        if whole and held.run is not None:
            notes += list_unjudged(held.run, observed.run)
        return replace(result, verdict="same", notes=tuple(notes))
    if whole and any(item.quantity == DRAWS for item in moved):
        alone = [_NO_RESULT_MOVED] if len(moved) == 1 else []
        counts = describe_counts(lock.counts, count_draws(read(observed.run)))
        result = replace(result, notes=(*result.notes, *alone, *counts))
    if (reason := _explain_other_class(asked, observed, locked, moved, limit)) is None:
        return _differs(asked, result, held.run)
    if locked.bounds is None:
        return replace(result, verdict="unknown", reason=reason)
    distances = measure_distances(locked, observed, limit)
    result = replace(result, distances=distances, factors=locked.bounds.factors, reason=reason)
    if all(item.distance <= item.bound for item in distances):
        return replace(result, verdict="within")
    return _differs(asked, result, held.run)


def _explain_other_class(
    asked: VerifyRequest,
    observed: Observed,
    locked: Environment,
    moved: tuple[Moved, ...],
    limit: int | None,
) -> str | None:
    """Why bits may be others here than those of the lock; None where they must be equal.

    They must be on a locked class of machine, with other code, and in what is no floating point.
    """
    lock = asked.lock
    if observed.environment.id in lock.environments or observed.code.digest != lock.code.digest:
        return None
    if any(item.quantity in (*lock.portable, "end") for item in moved):
        return None
    if limit is None and not _is_portably_equal(lock, observed):
        return None
    machine = [
        f"{name} {locked.machine.get(name, 'not there')} → {value}"
        for name, value in observed.environment.machine.items()
        if locked.machine.get(name) != value
    ]
    if not machine and locked.bounds is None:
        return None  # the same machine, used otherwise: that is a difference, and its cause is known
    return (
        f"another class of machine: {', '.join(machine[:_MOST])}"
        if machine
        else "the same machine, with other settings"
    )


def _is_portably_equal(lock: Lock, observed: Observed) -> bool:
    """Whether a whole run is the locked one in its code and in all that is no floating point."""
    same_code = observed.code.digest == lock.code.digest
    now = {**observed.roots, **observed.structure}
    held = all(now.get(name) == root for name, root in lock.portable.items())
    return same_code and held and observed.steps == lock.steps


def _differs(asked: VerifyRequest, result: VerifyResult, locked_run: Run | None) -> VerifyResult:
    """With what `diff` says of the two runs, where the locked one is at hand."""
    store = asked.request.store
    run = next((run for run in store.list() if run.id == result.run), None)
    if locked_run is None or run is None:
        return replace(result, verdict="differs")
    compared = diff(store, [locked_run, run])
    return replace(result, verdict="differs", compared=compared if compared.verdict == "differs" else None)
