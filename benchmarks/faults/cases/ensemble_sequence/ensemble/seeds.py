# drawn from: numpy's page on parallel generation: SeedSequence().spawn(n), with the entropy printed and not kept
import numpy as np
import torch


class Seeds:
    """One root; each member of the ensemble gets a child of it."""

    def __init__(self, entropy=None):
        self.root = np.random.SeedSequence(entropy)  # fault: numpy-generator

    def members(self, n):
        for child in self.root.spawn(n):
            weights, bag = child.spawn(2)
            seed = int(weights.generate_state(1, np.uint64)[0] >> 1)
            yield torch.Generator().manual_seed(seed), np.random.default_rng(bag)
