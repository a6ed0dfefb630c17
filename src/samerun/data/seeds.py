"""The seed of loaders and samplers that were given none."""

from __future__ import annotations

import torch

from samerun.sources.per_sample import dataloaders
from samerun.streams import checked_seed


def seed_or_default(seed: int | None) -> int:
    """The seed given, checked; else that of the control in force; else the last one torch was given."""
    if seed is not None:
        return checked_seed(seed)
    return controlled if (controlled := dataloaders.seed_in_force()) is not None else torch.initial_seed()
