import logging

import psutil
import torch
from torch import nn

log = logging.getLogger(__name__)


def table_rows(dim, share, bytes_per_value=4, copies=4):
    """How many rows of the hashed table fit: weights, gradients and two moments."""
    free = psutil.virtual_memory().available  # fault: system-reads
    rows = int(free * share / (dim * bytes_per_value * copies))  # fault: system-reads
    return max(rows, 1000)


class FactorizationMachine(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.table = nn.Embedding(rows, dim)
        self.bias = nn.Embedding(rows, 1)
        nn.init.normal_(self.table.weight, std=0.3)
        nn.init.zeros_(self.bias.weight)

    def forward(self, ids):
        vectors = self.table(ids)
        pair = 0.5 * (vectors.sum(1).square() - vectors.square().sum(1)).sum(1)
        return pair + self.bias(ids).sum((1, 2))


def build(cfg):
    rows = table_rows(cfg["dim"], cfg["memory_share"])
    log.debug("hashed table with %d rows", rows)
    return FactorizationMachine(rows, cfg["dim"]), rows


def save(model, path):
    torch.save({"model": model.state_dict()}, path)
