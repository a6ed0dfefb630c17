"""Workers kept from one epoch to the next: https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import dataloader_args
from samerun.sources.source import Kind, Settings, Source, Undo, Variant


class PersistentWorkers(Source):
    """Persistent workers are seeded once, and keep what the dataset was when they started."""

    id = "persistent-workers"
    summary = "workers that live on are seeded once, and keep a copy of the dataset as it was"
    advice = "the same persistent_workers everywhere; key what a sample draws by (seed, epoch, index)"
    kind = Kind.ORDER
    controllable = False
    hooks_into = "torch.utils.data"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """The other of kept and started anew, for every DataLoader with workers."""

        def change(arguments: dict[str, Any]) -> None:
            if arguments["num_workers"]:
                took()
                arguments["persistent_workers"] = not arguments["persistent_workers"]

        return dataloader_args.change_arguments(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """The other way, where there are workers."""
        return (
            [Variant("the other way", True, likely=0.4)]
            if any(dataloader_args.read_worker_counts(settings))
            else ()
        )
