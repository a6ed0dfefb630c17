# drawn from: the class "a fingerprint of the configuration": the repr() of a function holds its address (cf. huggingface/datasets)
import hashlib
from dataclasses import dataclass
from typing import Callable

import torch.nn.functional as F


@dataclass
class Config:
    dim: int = 32
    projection: int = 16
    temperature: float = 0.2
    lr: float = 3e-3
    steps: int = 25
    batch: int = 64
    activation: Callable = F.relu

    def fingerprint(self):
        return hashlib.md5(repr(self).encode()).hexdigest()  # fault: memory-address

    def seed(self):
        """Each configuration has a seed of its own, so that sweeps are not all lucky at once."""
        return int(self.fingerprint()[:7], 16)  # fault: memory-address
