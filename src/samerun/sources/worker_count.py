"""How many processes load: https://pytorch.org/docs/stable/data.html#multi-process-data-loading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from samerun.runs.difference import Difference, Evidence
from samerun.sources.evidence import settings_diff
from samerun.sources.patching import dataloader_args
from samerun.sources.source import Journal, Kind, Settings, Source, Undo, Variant
from samerun.wrapping import SELF, wrap_attribute


class WorkerCount(Source):
    """Each worker has a generator of its own: another `num_workers` gives other augmentations."""

    id = "worker-count"
    summary = "what DataLoader workers draw depends on how many they are"
    advice = (
        "the same num_workers everywhere, or samerun.data.DataLoader, whose samples are keyed by their index"
    )
    kind = Kind.ORDER
    controllable = False  # worker-seeds controls what it does harm to
    hooks_into = "torch.utils.data"

    def __init__(self) -> None:
        self._made: list[int] = []

    def observe(self, journal: Journal) -> Undo | None:
        """Keep what each DataLoader is made with, for `describe`."""
        from torch.utils.data import DataLoader

        def init(original: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            original(*args, **kwargs)
            self._made.append(SELF.of(args, kwargs).num_workers)

        return wrap_attribute(DataLoader, "__init__", init)

    def describe(self) -> Mapping[str, Any]:
        """num_workers of each DataLoader so far; nothing before the first one."""
        return {"workers": list(self._made)} if self._made else {}

    def vary(self, value: Any, took: Callable[[], None]) -> Undo | None:
        """Make every DataLoader with `value` workers."""

        def change(arguments: dict[str, Any]) -> None:
            if arguments["num_workers"] == value:
                return
            took()
            arguments["num_workers"] = value
            if value == 0:
                without = {"persistent_workers": False, "prefetch_factor": None, "timeout": 0}
                arguments.update(without, multiprocessing_context=None)

        return dataloader_args.change_arguments(change)

    def variants(self, settings: Settings) -> Sequence[Variant]:
        """0, 1, 2 and 4, but for the number that there is."""
        made = set(dataloader_args.read_worker_counts(settings))
        return [
            Variant(f"num_workers={n}", n, likely=0.6 if n in (0, 2) else 0.3)
            for n in (0, 1, 2, 4)
            if made and made != {n}
        ]

    def recognise(self, difference: Difference) -> Evidence | None:
        """The runs loaded with another number of workers, and the batch differs."""
        if difference.what not in ("batch", "input"):
            return None
        return settings_diff.find_differing(self.id, difference, keys=("workers",))
