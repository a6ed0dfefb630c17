# drawn from: the class "a generator of the sampler's own", seeded by Generator.seed() and not by the script's seed
"""Samplers for unbalanced classes."""
import torch
from torch.utils.data import Sampler


class BalancedSampler(Sampler):
    """Draws with replacement, each class as often as the others."""

    def __init__(self, labels, num_samples=None, generator=None):
        labels = torch.as_tensor(labels)
        counts = torch.bincount(labels).float()
        self.weights = (1 / counts)[labels]
        self.num_samples = num_samples or len(labels)
        if generator is None:
            generator = torch.Generator()
            generator.seed()  # fault: torch-cpu
        self.generator = generator

    def __len__(self):
        return self.num_samples

    def __iter__(self):
        rows = torch.multinomial(self.weights, self.num_samples, True, generator=self.generator)  # fault: torch-cpu
        return iter(rows.tolist())
