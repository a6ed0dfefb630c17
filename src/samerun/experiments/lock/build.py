"""Makes a lock of what runs showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from samerun.comparing.pairing import read
from samerun.experiments.lock.draw_counts import DRAWS, count_draws
from samerun.experiments.lock.moved import list_locked_steps
from samerun.experiments.lock.named_files import MOST_CODE, MOST_INPUTS, limit_files
from samerun.experiments.lock.observed import Observed
from samerun.runs.lock.content import Environment, Lock
from samerun.runs.lock.file import format_lock
from samerun.runs.plan import Control

MOST_LINES = 200  # of the file, however long the run, without those that name the code
_MOST_REVISIONS = 12
_MOST_CHECKPOINTS = 16
_MOST_METRICS = 12


def build_lock(
    command: tuple[str, ...],
    beside: bool,
    control: Control,
    limit: int | None,
    observed: Observed,
    left_out: Sequence[str] = (),
) -> Lock:
    """The lock of one run, with the class of its machine as the only one."""
    code = observed.code
    return fit(
        Lock(
            command=command,
            mode=control.mode,
            seed=control.seed,
            ranks=observed.ranks,
            steps=observed.steps,
            code=replace(code, files=limit_files(code.files, MOST_CODE)),
            environments={observed.environment.id: build_environment(observed)},
            inputs=limit_files(observed.inputs, MOST_INPUTS),
            revisions=dict(sorted(observed.revisions.items())[:_MOST_REVISIONS]),
            portable=observed.portable,
            counts={} if DRAWS in left_out else count_draws(read(observed.run)),
            control=control.extra,
            fill=control.fill,
            compatible=control.compatible,
            limit=limit,
            beside=beside,
            left_out=tuple(left_out),
        )
    )


def build_environment(observed: Observed) -> Environment:
    """The class of the run's machine, and the bits that the run gave: of steps 0, 1, 2, 4, 8, …, the last.

    What comes after the last optimizer step counts as one more. Steps at which something was saved are there
    too, where they are few, and those before them, whose weights are what was saved.
    """
    steps = observed.leaves.list_steps()
    saved = {step for step, quantity in observed.leaves.digests if quantity == "saved"}
    few = saved if len(saved) <= _MOST_CHECKPOINTS else set()
    chosen = {
        0,
        *(2**power for power in range(32)),
        observed.steps - 1,
        *steps[-1:],
        *few,
        *(step - 1 for step in few),
    }
    class_ = observed.environment
    return Environment(
        run=observed.run.id,
        machine=class_.machine,
        settings=class_.settings,
        packages=class_.packages,
        variables=class_.variables,
        steps=tuple(list_locked_steps(observed.leaves, [step for step in steps if step in chosen])),
        root=observed.roots,
        result=replace(
            observed.result, metrics=dict(sorted(observed.result.metrics.items())[:_MOST_METRICS])
        ),
    )


def fit(lock: Lock) -> Lock:
    """The lock with so few steps that its file has few lines (MOST_LINES); the roots stand for every step.

    Of each class of machine the first step stays, the last, and what comes after it.
    """
    while format_lock(lock).count("\n") > MOST_LINES + len(lock.code.files):
        id_, fullest = max(lock.environments.items(), key=lambda item: len(item[1].steps))
        if len(fullest.steps) <= 3:
            break
        inner = fullest.steps[1:-2]
        thinned = replace(fullest, steps=(fullest.steps[0], *inner[1::2], *fullest.steps[-2:]))
        lock = replace(lock, environments={**lock.environments, id_: thinned})
    return lock
