"""grain: the seeds of its samples."""

from __future__ import annotations

from typing import Any

from samerun.data import DataLoader

from .faults import fault
from .work import BATCH, SAMPLES, Augmented, draws


@fault(
    "grain",
    "the sampler adds: seed + position, so seed 1 draws seed 0's numbers one sample later",
    samerun="streams are hashed: seeds 0 and 1 have no draw in common",
)
class TestNeighbouringSeeds:
    def test_peer(self, peer: str) -> None:
        import grain.python as grain

        def sampler(seed: int) -> Any:
            sharding = grain.NoSharding()
            return grain.IndexSampler(SAMPLES, sharding, shuffle=True, num_epochs=1, seed=seed)

        zero, one = ([sampler(seed)[i].rng.random() for i in range(SAMPLES)] for seed in (0, 1))
        assert zero[1:] == one[:-1]
        assert zero != one

    def test_samerun(self) -> None:
        zero, one = (
            draws(list(DataLoader(Augmented(), batch_size=BATCH, shuffle=True, seed=seed))) for seed in (0, 1)
        )
        assert len({*zero, *one}) == 2 * SAMPLES
