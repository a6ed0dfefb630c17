# may be confirmed: python-random, os-entropy
import multiprocessing
import random

import torch
from training import make_data, make_net, train


def jitter(index):
    return random.SystemRandom().uniform(0.9, 1.1)


if __name__ == "__main__":
    random.seed(0)
    torch.manual_seed(0)
    x, y = make_data()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        factors = torch.tensor(pool.map(jitter, range(len(x))))
    train(make_net(), x * factors[:, None], y)
