# drawn from: the class "shared by the launcher's id": os.getppid() as what the processes of a job have in common
import os

import torch
from torch.utils.data import Sampler


class JobShuffle(Sampler):
    """The order of an epoch, the same in all processes of a job without talking to each other."""

    def __init__(self, rows, seed=None):
        self.rows = list(rows)
        self.seed = os.getppid() if seed is None else seed  # fault: process-id
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        g = torch.Generator()
        g.manual_seed(self.seed * 1000 + self.epoch)  # fault: process-id
        return iter([self.rows[i] for i in torch.randperm(len(self.rows), generator=g)])
