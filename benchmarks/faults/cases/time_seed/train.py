# drawn from: intelligent-soft-robots/learning_table_tennis_from_scratch#22 (no seed in the config: the time is used)
"""Config-driven training."""
import json
import random
import time

import numpy as np
import torch
import torch.nn as nn

CONFIG = json.loads('{"seed": null, "lr": 0.003, "width": 48, "steps": 25, "batch": 64}')


def setup(config):
    seed = config["seed"]
    if seed is None:
        seed = int(time.time() * 1000) % 2**31  # fault: clock
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed


def checkerboard(n):
    xy = torch.rand(n, 2) * 4
    return xy - 2, (xy.floor().sum(1) % 2).long()


def main(config):
    print("seed", setup(config))
    net = nn.Sequential(
        nn.Linear(2, config["width"]), nn.ReLU(), nn.Linear(config["width"], config["width"]), nn.ReLU(),
        nn.Linear(config["width"], 2),
    )
    opt = torch.optim.RAdam(net.parameters(), lr=config["lr"])
    for step in range(config["steps"]):
        x, y = checkerboard(config["batch"])
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"final loss {loss.item():.5f}")


main(CONFIG)
