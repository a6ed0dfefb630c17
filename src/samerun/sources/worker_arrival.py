"""Batches handed over as workers finish them: https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from samerun.runs.difference import Difference, Evidence
from samerun.runs.plan import Control
from samerun.sources import _patch
from samerun.sources.source import Journal, Source, Undo


class WorkerArrival(Source):
    """`DataLoader(…, in_order=False)`: whichever batch is ready first comes first."""

    id = "worker-arrival"
    summary = "with in_order=False, batches come in the order in which workers happen to finish them"
    advice = "DataLoader(…, in_order=True)"
    kind = "order"
    modes = ("seeded", "strict", "warn")
    hooks_into = "torch.utils.data"

    def __init__(self) -> None:
        self._asked: list[bool] = []  # what DataLoaders of this process were made with

    def control(self, control: Control) -> Undo | None:
        """Make every DataLoader, from here on, keep the order."""
        return self._after_init(lambda loader: setattr(loader, "in_order", True))

    def observe(self, journal: Journal) -> Undo | None:
        """Keep what each DataLoader asks for, for `describe`."""
        return self._after_init(lambda loader: self._asked.append(bool(getattr(loader, "in_order", True))))

    def describe(self) -> Mapping[str, Any]:
        """Whether every DataLoader so far keeps the order; nothing before the first one."""
        return {"in_order": all(self._asked)} if self._asked else {}

    def recognise(self, difference: Difference) -> Evidence | None:
        """The same samples in another order, from workers, with in_order=False."""
        orders = [side.settings.get(self.id, {}).get("in_order") for side in (difference.a, difference.b)]
        if difference.what not in ("batch", "input") or difference.in_workers is False:
            return None
        if False in orders:
            seen = difference.same_samples or difference.kind == "order" or difference.indices_equal is False
            text = "the DataLoader was made with in_order=False, and batches came in another order"
            return Evidence(self.id, 1.0 if seen else 0.4, text, difference.call_site)
        if (
            difference.same_samples
            and difference.kind == "order"
            and difference.in_workers
            and None in orders
        ):
            text = "the same batches came from the workers in another order"
            return Evidence(self.id, 0.4, text, difference.call_site)
        return None

    @staticmethod
    def _after_init(do: Any) -> Undo:
        from torch.utils.data import DataLoader

        original: Any = DataLoader.__init__

        @functools.wraps(original)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            do(self)

        return _patch.replace(DataLoader, "__init__", init)
