"""Are draws what independent uniform draws would be? With the power to see what a control could do wrong."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

LIMIT = 4.8  # standard errors: a fair draw is beyond it about once in 600,000 looks


def complaints(draws: Any, limit: float = LIMIT) -> list[str]:
    """What is wrong with draws, float (seeds, …): each further axis is one along which they must be fresh.

    Mean and variance of each place over the seeds; the correlation of every two places, over the seeds, which
    sees a shared stream, a frozen pass and a shift along an axis alike; and numbers drawn more than once.
    """
    draws = np.asarray(draws, dtype=np.float64)
    seeds, places = draws.shape[0], list(np.ndindex(draws.shape[1:]))
    flat = draws.reshape(seeds, -1)
    found = []
    z_mean = (flat.mean(0) - 0.5) * np.sqrt(12 * seeds)
    z_variance = (((flat - 0.5) ** 2).mean(0) - 1 / 12) / np.sqrt(1 / 180 / seeds)
    for what, z in (("mean", z_mean), ("variance", z_variance)):
        worst = int(np.abs(z).argmax())
        if abs(z[worst]) > limit:
            found.append(f"{what} at {places[worst]}: {z[worst]:.1f} standard errors off")
    correlated = np.corrcoef(flat, rowvar=False) * np.sqrt(seeds)
    np.fill_diagonal(correlated, 0)
    at = np.unravel_index(np.abs(correlated).argmax(), correlated.shape)
    if abs(correlated[at]) > limit:
        found.append(f"{places[at[0]]} and {places[at[1]]} go together: {correlated[at]:.1f} standard errors")
    if len(np.unique(flat)) < flat.size:
        found.append(f"{flat.size - len(np.unique(flat))} numbers were drawn more than once")
    return found


def agree(one: Any, other: Any, limit: float = LIMIT) -> list[str]:
    """Whether two sets of draws, float (seeds, …) of equal shape, have the same mean and variance."""
    found = []
    pairs = {"mean": lambda x: x, "variance": lambda x: (x - np.mean(x)) ** 2}
    for name, of in pairs.items():
        a, b = of(np.asarray(one).ravel()), of(np.asarray(other).ravel())
        z = (a.mean() - b.mean()) / np.sqrt(a.var() / a.size + b.var() / b.size)
        if abs(z) > limit:
            found.append(f"{name} differs by {z:.1f} standard errors")
    return found


def planted(shape: tuple[int, ...], seeds: int = 200) -> dict[str, Any]:
    """Draws that are not fresh, float (seeds, *shape), one for each fault that a control could have."""
    fair = np.random.default_rng(0).random((seeds, *shape))
    found = {"a constant": np.full((seeds, *shape), 0.5), "halved": fair / 2}
    for axis in range(1, len(shape) + 1):
        found[f"frozen along axis {axis}"] = np.repeat(fair.take([0], axis), shape[axis - 1], axis)
        shifted = fair.copy()
        places = [slice(None)] * fair.ndim
        for one, two in itertools.pairwise(range(shape[axis - 1])):
            here, there = list(places), list(places)
            here[axis], there[axis] = two, one
            shifted[tuple(here)] = np.roll(shifted[tuple(there)], 1, axis=-1 if axis < len(shape) else 1)
        found[f"shifted by one from place to place of axis {axis}"] = shifted
    return found
