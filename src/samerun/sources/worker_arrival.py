"""What workers hand over as they finish it: batches of a DataLoader, results of a pool.

https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samerun.editing.edit import Edit, NoEdit
from samerun.runs.difference import Difference, Evidence, Row, Strength
from samerun.runs.plan import Control
from samerun.sources.evidence import rows
from samerun.sources.patching import attribute, completion_order, imported, row_order
from samerun.sources.source import Journal, Kind, Source, Undo
from samerun.wrapping import SELF, wrap_attribute

if TYPE_CHECKING:
    from samerun.editing.source_file import File
    from samerun.editing.user_program import Code


_NUMBERED = "give each result its number, and put them in the order of the numbers before they are used"
_QUEUE = re.compile(r"queue|\.(get|get_nowait|recv|recv_bytes)$", re.IGNORECASE)
_STORES = "torch._C._distributed_c10d."
_SHARES = "give each rank its share by its number, the same in each run: parts[rank::world_size]"
_WAITING = f"the tasks may wait for what the loop over their results does: {_NUMBERED}"
_ROWS = "frame.group_by(…, maintain_order=True), or .sort(…) by a column that has no equal values"
_GENERATOR = 'Parallel(…, return_as="generator"): the results in the order of the tasks'


class WorkerArrival(Source):
    """`in_order=False`, `as_completed`, `imap_unordered`, `wait`, callbacks: what is ready comes first."""

    id = "worker-arrival"
    gives = re.compile(
        r"(_?queue|concurrent|_?asyncio|select|selectors|zmq|_?multiprocessing|torch\.multiprocessing)\."
        r"(?!process\.current|.*Future\.done|pool\.Pool\.(map|starmap|imap|apply)$|.*ProcessPoolExecutor\.map).*"
        r"|torch\._C\._distributed_c10d\..*\.(add|compare_set)"
        r"|\.(imap_unordered|as_completed|wait|get|get_nowait|recv|recv_bytes|result)|polars\..*\.(group_by|unique)"
    )
    summary = "batches or results of a pool are taken in the order in which workers happen to finish them"
    advice = "DataLoader(…, in_order=True); pool.imap, or the list of futures itself, instead of as_completed"
    kind = Kind.ORDER
    of_workers = True
    evidence = "arrival"
    modes = ("seeded", "strict", "warn")
    hooks_into = "torch.utils.data"
    also_hooks_into = tuple(completion_order.MODULES)

    def __init__(self) -> None:
        self._asked: list[bool] = []  # what DataLoaders of this process were made with
        self._observed: set[str] = set()  # the modules that are seen to already
        self._kept: set[str] = set()
        self._journal: Journal | None = None

    def control(self, control: Control) -> Undo | None:
        """Make every DataLoader and pool, from here on, keep the order."""

        def keep(loader: Any) -> None:
            loader.in_order = True

        return self._hook(self._kept, keep, lambda module: completion_order.keep_order(module, self._give_up))

    def _give_up(self, name: str) -> None:
        if self._journal is not None:
            self._journal.note("arrival", name + completion_order.GIVEN_UP, user_only=True)

    def is_beyond_control(self, use: str) -> bool:
        """`wait`, and callbacks: who asks for what is ready cannot be given what is not."""
        return use not in completion_order.ORDERED

    def advise(self, function: str) -> str | None:
        """For a queue or a pipe that others fill."""
        if function.startswith(_STORES):
            return _SHARES
        return _NUMBERED if _QUEUE.search(function) else None

    def observe(self, journal: Journal) -> Undo | None:
        """Keep what each DataLoader asks for, for `describe`; note who takes results as they are ready."""

        self._journal = journal

        def ask(loader: Any) -> None:
            self._asked.append(bool(getattr(loader, "in_order", True)))
            if not self._asked[-1] and loader.num_workers > 1:
                journal.note("arrival", completion_order.LOADER, user_only=True)

        return self._hook(self._observed, ask, lambda module: completion_order.note_uses(module, journal))

    def _hook(self, done: set[str], loader: Callable[[Any], None], pools: Callable[[str], Undo]) -> Undo:
        """Act on what is imported by now and was not there the last time."""
        undos: list[Undo] = []
        for name, holds in ((self.hooks_into, "DataLoader"), *completion_order.MODULES.items()):
            if name not in done and imported.has(name, holds):
                done.add(name)
                undos += [functools.partial(done.discard, name)]
                undos += [self._after_init(loader) if name == self.hooks_into else pools(name)]
        return attribute.undo_all(undos)

    def describe(self) -> Mapping[str, Any]:
        """Whether every DataLoader so far keeps the order; nothing before the first one."""
        return {"in_order": all(self._asked)} if self._asked else {}

    def recognise(self, difference: Difference) -> Evidence | None:
        """The same samples in another order, from workers, with in_order=False; or results as they came."""
        return self._loader(difference) or self._pool(difference)

    def _pool(self, difference: Difference) -> Evidence | None:
        origin = difference.origin
        arrived = rows.list_racing(difference, "arrival")
        taken = [row for row in arrived if row.name != completion_order.LOADER]
        drawn = origin is not None and origin.draws and not origin.draws_other_size
        if not taken or (origin is not None and origin.makes_it):
            return None
        if (seeded := self._seeded(difference, taken)) is not None:
            return seeded
        if drawn:
            return None
        if any(rows.find_first_differing(difference, what) for what in ("seed", "listing")):
            return None
        if rows.has_changed_file(difference):
            return None
        site = taken[-1].call_site
        text = f"results are taken as they happen to be ready, by {taken[-1].name} at {site}"
        free = taken[-1].name not in completion_order.ORDERED
        # a generator drawn from in what comes in another order differs as well
        return Evidence(
            self.id,
            Strength.PLAUSIBLE if rows.has_rng_difference(difference) else Strength.STRONG,
            text,
            site,
            _advise(taken[-1].name),
            beyond_control=free,
        )

    def _seeded(self, difference: Difference, taken: Sequence[Row]) -> Evidence | None:
        """A seed that differs is made of what came first."""
        from samerun.sources.edits import system_values

        names = {row.call_site: row.name for row in taken}
        found = system_values.find_seed_site(
            difference, lambda code, file, node: _is_called_at(file, node, names)
        )
        if found is None:
            return None
        seed, site = found
        name = names[site]
        text = (
            f"{seed.name} got another seed in each run, at {seed.call_site}, made of what {name} gives "
            f"at {site}: that depends on which process or thread comes first"
        )
        free = name not in completion_order.ORDERED
        return Evidence(self.id, Strength.STRONG, text, site, _advise(name), beyond_control=free)

    def _loader(self, difference: Difference) -> Evidence | None:
        orders = [side.settings.get(self.id, {}).get("in_order") for side in (difference.a, difference.b)]
        if difference.what not in ("batch", "input") or difference.in_workers is False:
            return None
        if False in orders:
            seen = difference.same_samples or difference.kind == "order" or difference.indices_equal is False
            text = "the DataLoader was made with in_order=False, and batches came in another order"
            made = difference.a.rows("arrival", completion_order.LOADER)
            site = made[-1].call_site if made else difference.call_site
            return Evidence(self.id, Strength.SEEN if seen else Strength.PLAUSIBLE, text, site)
        if (
            difference.same_samples
            and difference.kind == "order"
            and difference.in_workers
            and None in orders
        ):
            text = "the same batches came from the workers in another order"
            return Evidence(self.id, Strength.PLAUSIBLE, text, difference.call_site)
        return None

    @staticmethod
    def _after_init(do: Any) -> Undo:
        from torch.utils.data import DataLoader

        def init(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            original(*args, **kwargs)
            do(SELF.of(args, kwargs))

        return wrap_attribute(DataLoader, "__init__", init)

    def mend(self, difference: Difference, site: str | None, code: Code) -> Sequence[Edit]:
        """`in_order=True`, and results of pools as they were asked for."""
        from samerun.sources.edits import threads

        edits = threads.keep_arrival_in_order(code) or threads.keep_order_submitted(code)
        if any(row.name in row_order.NAMES for row in difference.a.rows("arrival")):
            edits = [*edits, *threads.keep_rows_in_order(code, site)]
        if not edits and threads.wait_for_others(code):
            raise NoEdit(_WAITING)
        if not edits:
            there = [row.name for row in difference.a.rows("arrival") if row.call_site == site]
            raise NoEdit((_advise(there[-1]) if there else None) or self.advice)
        return edits


def _advise(name: str | None) -> str | None:
    """What to do about this use, where it is not what holds for most."""
    if name in row_order.NAMES:
        return _ROWS
    if name in completion_order.ORDERED:
        return None
    if name == completion_order.UNORDERED:
        return _GENERATOR
    return _SHARES if name in completion_order.COUNTED else _NUMBERED


def _is_called_at(file: File, node: ast.expr, sites: Collection[str | None]) -> bool:
    return isinstance(node, ast.Call) and file.site(node.lineno) in sites
