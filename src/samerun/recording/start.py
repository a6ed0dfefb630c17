"""Where recording begins: what is done as each module that it hooks into is imported."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from samerun.recording import dry_runs, dynamo_skip
from samerun.sources.foreign_kernels import EXTENSIONS

if TYPE_CHECKING:
    from samerun.recording.evidence_log import Journal
    from samerun.runs.plan import Plan


_INDUCTOR = "torch._inductor.output_code"  # whose code recording/ops/compiled.py records
# what launches kernels, which recording/ops/triton_kernels.py records
_TRITON = ("triton.runtime.jit", "triton.runtime.autotuner", "triton.runtime.interpreter")
_POOLS = ("multiprocessing.pool", "multiprocess.pool")  # whose workers recording/pool_workers.py knows
_EXTENSIONS = (*EXTENSIONS, "torch.utils.cpp_extension")  # what recording/ops/extensions.py records


def prepare(journal: Journal) -> None:
    """At the start of the process: note the files that it opens."""
    from samerun.recording import opened_files

    opened_files.observe(journal)


def list_watched(plan: Plan) -> frozenset[str]:
    """The modules whose import `act_on_import` wants to hear of."""
    of_operations = {"random", _INDUCTOR, *_TRITON, *_EXTENSIONS} if plan.tier == "ops" else set[str]()
    return frozenset({"torch", dynamo_skip.NAME, dry_runs.MODULE, "numpy.random", *_POOLS} | of_operations)


def act_on_import(plan: Plan, journal: Journal, module: str) -> None:
    """A watched module was just imported, and the sources have acted on it."""
    if module == "torch":
        start(plan, journal)
        return
    if module == dynamo_skip.NAME:
        dynamo_skip.skip_known()
        return
    if module == "numpy.random" and journal.on_import is not None:
        from samerun.sources.numpy_global import NumpyGlobal

        journal.on_import(NumpyGlobal.id)  # what draws before the first step shows as a change
    if module == dry_runs.MODULE and journal.sink is not None:
        dry_runs.leave_out(journal.sink.pausing)
    if module in _POOLS and journal.on_pool is not None:
        journal.on_pool(module)
    if plan.tier == "ops":
        _watch_operations(journal, module)


def _watch_operations(journal: Journal, module: str) -> None:
    """Record what this module launches or draws, as operations."""
    if module == _INDUCTOR:
        from samerun.recording.ops import compiled

        compiled.wrap_graphs()
    elif module in _TRITON:
        from samerun.recording.ops import triton_kernels

        triton_kernels.wrap_launches(module)
    elif module in _EXTENSIONS:
        from samerun.recording.ops import extensions

        extensions.wrap_extension(module)
    else:
        _watch_draws(journal, module)


def _watch_draws(journal: Journal, module: str) -> None:
    from samerun.recording.draws import ledger

    if journal.draws is None:
        journal.draws = ledger.Draws(journal)
    if module == "random":
        ledger.observe_random(journal.draws, sys.modules[module])
    elif module == "numpy.random":
        ledger.observe_numpy(journal.draws, sys.modules[module])


def start(plan: Plan, journal: Journal) -> None:
    """Record this process from here on; called once, right after torch was imported."""
    from samerun.recording import pool_workers, process_groups
    from samerun.recording.recorder import Recorder
    from samerun.recording.steps import dataloaders, modules, training

    recorder = Recorder(plan, journal)
    write_rngs = recorder.guard(recorder.rngs.write)
    journal.sink = recorder.sink
    journal.on_seeding = recorder.guard(recorder.rngs.seeds)
    journal.on_import = write_rngs
    journal.on_pool = functools.partial(pool_workers.observe, recorder)
    for module in _POOLS:
        if module in sys.modules:
            journal.on_pool(module)
    write_rngs()  # what a model's initialisation draws shows as a change from here
    named = modules.observe(recorder)
    training.observe(recorder, named)
    dataloaders.observe(recorder)
    if plan.tier == "ops":
        from samerun.recording.ops import window

        window.observe(recorder, named.path)
    process_groups.observe()
