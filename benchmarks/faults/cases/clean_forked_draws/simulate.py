"""Paths of a stochastic volatility model; each job brings its own seed."""
import random

import numpy as np


def path(job):
    """(parameters, returns) of one simulated path."""
    seed, steps = job
    coin = random.Random(f"path-{seed}")
    kappa, level = coin.uniform(0.5, 3.0), coin.uniform(0.1, 0.4)
    rng = np.random.default_rng(np.random.SeedSequence(entropy=1789, spawn_key=(seed,)))
    variance, returns = level, []
    for _ in range(steps):
        variance = abs(variance + 0.05 * kappa * (level - variance) + 0.1 * np.sqrt(variance * 0.05) * rng.normal())
        returns.append(np.sqrt(variance * 0.05) * rng.normal())
    return (kappa, level), np.array(returns, dtype=np.float32)
