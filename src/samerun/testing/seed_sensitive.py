"""Another seed changes what a seed should: a training can repeat exactly and still be wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import nn

from samerun.controls import control
from samerun.digest import combine, digest_value
from samerun.errors import UsageError
from samerun.ranks import world_size
from samerun.ranks.exchange import gather
from samerun.ranks.named_digests import find_first_difference, list_entries
from samerun.sources.base.rng import Rng
from samerun.sources.catalogue import find_sources
from samerun.testing.seed_checks import Epoch, describe_seen, find_same_augmentation, find_same_order, starts
from samerun.testing.watch_loader import Observation, watch

PARTS = ("initialisation", "order", "augmentation")
_EPOCHS = 2
_SHOWN = 3
_LOOKED_AT = 10_000  # elements of a parameter


def assert_seed_sensitive(
    make: Callable[[int], tuple[Any, Any]], *, seeds: Sequence[int] = (0, 1), parts: Sequence[str] = PARTS
) -> None:
    """See that another seed changes initialisation, order and augmentation, and another epoch the latter two.

    `make(seed)` returns a new model and a new torch DataLoader over a map-style dataset; the generators of
    python, numpy and torch are seeded from the seed before. Two epochs of each loader are run, with its own
    workers, and `set_epoch` called where there is one. All must differ, also one seed's second epoch from the
    next seed's first, and each parameter that is not constant; and no two samples may draw the same random
    numbers, in two workers for example, or on two ranks when there are several. Leave out of `parts` what
    should not be random.

    Raises AssertionError naming what is alike, for each part; UsageError for what cannot be compared.
    """
    if isinstance(parts, str) or not parts or not set(parts) <= set(PARTS):
        raise UsageError(f"parts is a tuple of some of {', '.join(PARTS)}, not {parts!r}")
    if len(set(seeds)) < 2:
        raise UsageError(f"at least two different seeds are needed, not {tuple(seeds)}")
    models: dict[int, _Initialisation] = {}
    epochs: dict[Epoch, list[Observation]] = {}
    rngs = [id_ for id_, source in find_sources().items() if isinstance(source, Rng)]
    for seed in seeds:
        with control(seed, only=rngs):  # and not what keys the loaders: that would mend what is to be found
            model, loader = make(seed)
            if "initialisation" in parts:
                models[seed] = _Initialisation(model)
            if "order" in parts or "augmentation" in parts:
                epochs.update(((seed, number), seen) for number, seen in enumerate(watch(loader, _EPOCHS)))
    on_ranks = _find_same_on_ranks(epochs) if "augmentation" in parts and world_size() > 1 else None
    found = [
        _find_same_initialisation(models) if "initialisation" in parts else None,
        find_same_order(epochs) if "order" in parts else None,
        (find_same_augmentation(epochs) or on_ranks) if "augmentation" in parts else None,
    ]
    if any(found):
        raise AssertionError("\n".join(text for text in found if text))


class _Initialisation:
    """A model's parameters; which of them are of more values than a constant or an identity has."""

    def __init__(self, model: Any) -> None:
        named = dict(model.named_parameters()) if isinstance(model, nn.Module) else model
        self.entries = list_entries(named)
        if all(entry.empty for entry in self.entries):
            raise UsageError(f"a {type(model).__name__} without parameters cannot show its initialisation")
        self.varied = {
            name: digest_value(value)
            for name, value in (named.items() if isinstance(named, Mapping) else ())
            if isinstance(value, torch.Tensor) and _is_trained(value) and _has_many_values(value)
        }


def _is_trained(value: torch.Tensor) -> bool:
    return value.requires_grad or not isinstance(value, nn.Parameter)


def _has_many_values(value: torch.Tensor) -> bool:
    return not value.is_meta and len(torch.unique(value.detach().flatten()[:_LOOKED_AT])) > 2


def _find_same_initialisation(models: dict[int, _Initialisation]) -> str | None:
    for a, b in combinations(models, 2):
        if find_first_difference(models[a].entries, models[b].entries) is None:
            return f"initialisation: seeds {a} and {b} give all {len(models[a].entries)} parameters alike"
    for a, b in combinations(models, 2):
        one, other = models[a].varied, models[b].varied
        alike = [name for name, digest in one.items() if other.get(name) == digest]
        if alike:
            more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
            return (
                f"initialisation: seeds {a} and {b} give {', '.join(alike[:_SHOWN])}{more} alike, and other "
                "parameters not. If that is meant (weights that were loaded, a fixed table), let make() "
                "return the others by name in the model's place"
            )
    return None


def _find_same_on_ranks(epochs: dict[Epoch, list[Observation]]) -> str | None:
    """The first two ranks where something draws the same random numbers."""
    mine = {
        combine((state,), name).hex(): f"{describe_seen(epoch, seen)} from {name}"
        for (name, state), (epoch, seen) in starts(epochs)
    }
    ranks = [json.loads(said) for said in gather("assert_seed_sensitive()", json.dumps(mine).encode())]
    for a, b in combinations(range(len(ranks)), 2):
        for start, what in ranks[a].items():
            if start in ranks[b]:
                return f"augmentation: {what} on rank {a} is drawn alike on rank {b}: {ranks[b][start]}"
    return None
