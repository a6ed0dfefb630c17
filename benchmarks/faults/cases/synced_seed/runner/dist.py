# drawn from: open-mmlab's sync_random_seed: without a seed, rank 0 draws one and sends it to the others
import random

import numpy as np
import torch
import torch.distributed as dist


def sync_random_seed():
    """The same random seed on every rank."""
    seed = np.random.randint(2**31)  # fault: numpy-global
    value = torch.tensor(seed if dist.get_rank() == 0 else 0, dtype=torch.int64)
    dist.broadcast(value, src=0)
    return value.item()


def set_random_seed(seed=None, diff_rank_seed=False):
    if seed is None:
        seed = sync_random_seed()  # fault: numpy-global
    if diff_rank_seed:
        seed += dist.get_rank()
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)  # fault: numpy-global
    return seed
