"""The generators inside workers: of DataLoaders, and of pools of processes.

https://pytorch.org/docs/stable/data.html#randomness-in-multi-process-data-loading
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.plan import Control
from samerun.runs.schema import takes_tasks
from samerun.sources.evidence import rows
from samerun.sources.patching import attribute, dataloader_args, imported
from samerun.sources.per_sample import dataloaders, pool_tasks
from samerun.sources.source import Kind, Label, Settings, Source, Undo, Variant

if TYPE_CHECKING:
    from samerun.editing.user_program import Code


_BY_TASK = "seed in the task, by what it is given: rng = np.random.default_rng([seed, task_number])"
_SEEDED_BY = {  # as they stand in "seed" rows → what they seed, as it stands in "draw" rows
    "random.seed": "python-random",
    "np.random.seed": "numpy-global",
    "torch.manual_seed": "torch-cpu",
    "np.random.default_rng": "numpy-generator",
    "random.Random": "python-random:generator",
}


class WorkerSeeds(Source):
    """What workers draw; `per_sample` makes it depend on the sample, or on the task of a pool, alone."""

    id = "worker-seeds"
    gives = re.compile(
        r"multiprocess(ing)?\.pool\.Pool\.(map|starmap|imap|apply)|concurrent\..*ProcessPoolExecutor\.map"
    )
    summary = "what workers draw depends on how they were seeded, on their number, and on who gets what"
    advice = (
        "DataLoader(…, worker_init_fn=seed_worker, generator=torch.Generator().manual_seed(0)); "
        "in a task of a pool: rng = np.random.default_rng([seed, task_number])"
    )
    kind = Kind.RNG
    of_workers = True
    studied_as = Label(4, "augmentation: what samples draw as they are loaded")
    price = Label(5, "generators seeded before each sample")
    modes = ("seeded", "strict", "warn")
    hooks_into = "torch.utils.data"
    also_hooks_into = tuple(pool_tasks.MODULES)

    def __init__(self) -> None:
        self._controlled: dict[str, Control] = {}  # the modules that are seen to already
        self._streams: tuple[Control, pool_tasks.PoolStreams] | None = None

    def is_controlled_by(self, control: Control | None) -> bool:
        """Not by a compatible one.

        What a loader draws for its workers, and what a pool's are forked with, gives published numbers.
        """
        return super().is_controlled_by(control) and control is not None and not control.compatible

    def control(self, control: Control) -> Undo | None:
        """Key what datasets draw by (seed, loader, epoch, index), and what pools do by (seed, pool, task)."""
        undos: list[Undo] = []
        for module, holds in ((self.hooks_into, "DataLoader"), *pool_tasks.MODULES.items()):
            if self._controlled.get(module) is not control and imported.has(module, holds):
                self._controlled[module] = control
                undos.append(functools.partial(self._forget, module))
                if module == self.hooks_into:
                    undos.append(dataloaders.install(control.seed))
                else:
                    undos.append(pool_tasks.key_tasks(module, self._find_streams(control)))
        return attribute.undo_all(undos)

    def _forget(self, module: str) -> None:
        self._controlled.pop(module, None)

    def _find_streams(self, control: Control) -> pool_tasks.PoolStreams:
        if self._streams is None or self._streams[0] is not control:
            self._streams = control, pool_tasks.PoolStreams(control.seed)
        return self._streams[1]

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Key by another seed."""
        took()
        return dataloaders.install(value)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another seed."""
        return [Variant("another seed", 4242, likely=0.9)]

    def has_price_in(self, settings: Settings) -> bool:
        """Where there is a DataLoader."""
        return bool(dataloader_args.read_worker_counts(settings))

    def recognise(self, difference: Difference) -> Evidence | None:
        """Equal samples asked for, other batches made in workers, equal generators in the main process.

        Or other numbers drawn by workers of a pool.
        """
        if (drawn := _find_drawn_in_pool(difference)) is not None:
            return drawn
        if difference.what not in ("batch", "input") or not difference.in_workers:
            return None
        reseeded = _find_seeded_in_worker(difference)
        if reseeded is not None:
            text = f"workers seed {reseeded.name} differently in each run, at {reseeded.call_site}"
            return Evidence(self.id, Strength.SEEN, text, reseeded.call_site)
        if difference.indices_equal is not True:
            return None
        before = [id_ for id_, step in difference.rng_first.items() if step <= difference.step]
        if any(id_ in difference.drawn for id_ in before if id_.startswith("torch-")):
            text = "workers take their seeds from the main process's torch generator, which differs"
            return Evidence(self.id, Strength.LAST_RESORT, text, difference.call_site)
        text = "workers made other batches of the same samples"
        other = next((id_ for id_ in before if id_ in difference.drawn), None)
        if other is not None:  # the dataset may have been made from it
            text = f"{text}, though {other} of the main process, which differs, may be the reason as well"
            return Evidence(self.id, Strength.SLIGHT, text, difference.call_site)
        text = f"{text}, and the main process's generators agree"
        return Evidence(self.id, Strength.STRONG, text, difference.call_site)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """Workers that seed themselves take the seed that torch gives them, from a seeded generator."""
        from samerun.sources.edits import dataloader_workers

        edits = dataloader_workers.seed_workers(difference, code)
        if not edits:
            raise NoEdit(self.advice)
        return edits


def _find_drawn_in_pool(difference: Difference) -> Evidence | None:
    """Where workers of a pool, several of them, drew other numbers, and no operation of equal inputs did."""
    origin = difference.origin
    if origin is not None and origin.draws and origin.generator_differs and takes_tasks(difference.process):
        text = f"{origin.op} draws in a worker of a pool, and which of them takes a task is a race"
        return Evidence(WorkerSeeds.id, Strength.PLAUSIBLE, text, origin.call_site, _BY_TASK)
    if origin is not None and origin.makes_it:
        return None
    draws = [row for row in difference.a.rows("draw") if takes_tasks(row.process)]
    workers = {row.process for row in draws}
    by_task = {_SEEDED_BY.get(str(name), name) for name in rows.list_seeded_by_task(difference)}
    differing = (row for row in rows.list_differing(difference, "draw") if row.process in workers)
    drawn = next((row for row in differing if row.name not in by_task), None)
    strength, others = Strength.SEEN, "other numbers in each run: "
    of_data = difference.what in ("batch", "input", "operation")
    if drawn is None and of_data and not rows.is_explained(difference):
        # Each worker draws the same in both runs, for other tasks.
        drawn = next((row for row in draws if row.name not in by_task), None)
        strength, others = Strength.PLAUSIBLE, "and "
    if drawn is None or len(workers) < 2:
        return None
    seed = next((row for row in difference.a.rows("seed") if row.process in workers), None)
    seeded = f", which are seeded at {seed.call_site}" if seed is not None else ""
    text = (
        f"workers of a pool{seeded} draw from {drawn.name} at {drawn.call_site}, {others}which of them "
        "takes a task is a race"
    )
    return Evidence(WorkerSeeds.id, strength, text, (seed or drawn).call_site, _BY_TASK)


def _find_seeded_in_worker(difference: Difference) -> Row | None:
    """Where a worker seeds python's or numpy's global generator without a seed, or by another one."""
    for row in difference.a.rows("unseeded"):
        if ".worker" in row.process and row.name in ("python-random", "numpy-global", "torch-cpu"):
            return row
    seed = rows.find_first_differing(difference, "seed")
    return seed if seed is not None and ".worker" in seed.process else None
