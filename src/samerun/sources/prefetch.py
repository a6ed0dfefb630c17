"""Batches loaded ahead: https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import dataloader_args
from samerun.sources.source import Kind, Settings, Source, Undo, Variant


class Prefetch(Source):
    """How far workers are ahead of the training; a sampler or dataset that keeps a state feels it."""

    id = "prefetch"
    summary = "workers fetch batches ahead, so a dataset or sampler with a state is ahead of the training"
    advice = "keep no state in datasets and samplers; the same prefetch_factor everywhere"
    kind = Kind.ORDER
    controllable = False
    hooks_into = "torch.utils.data"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """`value` batches ahead in every DataLoader with workers."""

        def change(arguments: dict[str, Any]) -> None:
            if arguments["num_workers"]:
                took()
                arguments["prefetch_factor"] = value

        return dataloader_args.change_arguments(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """Another number than the usual 2, where there are workers."""
        return (
            [Variant("prefetch_factor=5", 5, likely=0.1)]
            if any(dataloader_args.read_worker_counts(settings))
            else ()
        )
