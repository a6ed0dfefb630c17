"""A DataLoader that nobody uses: `iter(loader)` draws a seed from the main generator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from samerun.sources.patching import dataloader_args
from samerun.sources.source import Kind, Settings, Source, Undo, Variant
from samerun.wrapping import wrap_attribute


class ExtraLoader(Source):
    """To iterate one more loader, for a look at a batch say, shifts all later random numbers."""

    id = "extra-loader"
    summary = "each iter(loader) draws from torch's main generator, whatever the loader is used for"
    advice = "DataLoader(…, generator=torch.Generator().manual_seed(0)), one generator for each loader"
    kind = Kind.ORDER
    controllable = False
    hooks_into = "torch.utils.data"

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Begin to iterate a loader of nothing, before the first one is iterated."""
        from torch.utils.data import DataLoader

        done = False

        def iterate(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            nonlocal done
            if not done:
                done = True
                took()
                original(DataLoader([0]))  # type: ignore[arg-type]
            return original(*args, **kwargs)

        return wrap_attribute(DataLoader, "__iter__", iterate)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """One loader more, where there are loaders."""
        return (
            [Variant("one unused loader more", True, likely=0.5)]
            if dataloader_args.read_worker_counts(settings)
            else ()
        )
