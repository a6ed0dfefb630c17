# drawn from: the class "if args.seed:", where --seed 0 seeds nothing (many research repositories)
import torch


def fix_seed(seed):
    """Seed everything that this project draws from, if a seed was asked for."""
    if seed:  # fault: torch-cpu
        torch.manual_seed(seed)  # fault: torch-cpu
