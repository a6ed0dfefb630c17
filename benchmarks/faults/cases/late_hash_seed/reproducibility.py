"""Seeds everything."""

import os
import random

import numpy as np
import torch


def set_seed(seed: int = 42) -> None:
    """Set all seeds to make results reproducible."""
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
