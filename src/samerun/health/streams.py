"""Workers of an iterable dataset that each hand out all of it: every sample comes once for each worker."""

from __future__ import annotations

from collections.abc import Iterator

from samerun.health.case import HEAD, Case, format_site
from samerun.health.loaders import Pass


def note(case: Case) -> Iterator[str]:
    """A line for each training loader whose workers give the same batches."""
    for process in case.processes:
        told: set[int] = set()
        for item in process.loaders.passes:
            if item.loader in process.loaders.training and item.loader not in told and _is_copied(item):
                told.add(item.loader)
                count = len(item.workers)
                yield (
                    f"{HEAD}each of the {count} workers of the loop{format_site(item.call_site)} hands out "
                    f"the same batches of {item.dataset}: each sample is trained on {count} times a "
                    "pass. Split the data by torch.utils.data.get_worker_info() in its __iter__"
                )


def _is_copied(item: Pass) -> bool:
    """Whether batches come in groups of equal ones, as many as there are workers, not all of one kind."""
    count = len(item.workers)
    if not item.iterable or count < 2 or len(item.batches) < 2 * count:
        return False
    whole = item.batches[: len(item.batches) // count * count]
    groups = [set(whole[start : start + count]) for start in range(0, len(whole), count)]
    return all(len(group) == 1 for group in groups) and len(set().union(*groups)) > 1
