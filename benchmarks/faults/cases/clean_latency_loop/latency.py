"""How fast is the model on this machine?"""

import time

import torch


@torch.no_grad()
def measure(model, example, seconds):
    """Seconds a call, the median over as many calls as the time allows."""
    training = model.training
    model.eval()
    taken = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or not taken:
        began = time.perf_counter()
        model(example)
        taken.append(time.perf_counter() - began)
    model.train(training)
    return sorted(taken)[len(taken) // 2]
