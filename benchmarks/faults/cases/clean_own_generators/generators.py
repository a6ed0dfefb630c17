# drawn from: the class "a generator of the script's own" done right: made without a seed, and given its state before it draws
"""Generators by purpose, with a state that is saved and set."""
import secrets

import numpy as np
import torch


class Generators:
    def __init__(self, seed):
        self.torch = torch.Generator()
        self.numpy = np.random.RandomState()
        self.initial = self.torch.seed()  # replaced at once, kept to tell whether anybody restored it
        self.reset(seed)

    def reset(self, seed):
        self.torch.manual_seed(seed)
        self.numpy.seed(seed)

    def state_dict(self):
        return {"torch": self.torch.get_state(), "numpy": self.numpy.get_state()}

    def load_state_dict(self, state):
        self.torch.set_state(state["torch"])
        self.numpy.set_state(state["numpy"])


class Token:
    """What clients of the preview must send; another one in each run."""

    def __init__(self):
        self.value = secrets.token_urlsafe(16)

    def check(self, given):
        return secrets.compare_digest(self.value, given)
