"""Proposes the settings of the next trial."""

import math
import random


class Sampler:
    """Around the mean of the best trials; a default where there are none."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def propose(self, best):
        if not best:
            return 3e-3, 32
        lr = math.exp(sum(math.log(lr) for lr, _ in best) / len(best))
        width = round(sum(width for _, width in best) / len(best))
        return lr * math.exp(self.rng.gauss(0.1, 0.3)), max(8, width + self.rng.randint(1, 8))
