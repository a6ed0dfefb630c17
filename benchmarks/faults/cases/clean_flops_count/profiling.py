"""How large is a model, and how much does it compute?"""

import copy

import torch
from torch import nn


def count_parameters(model):
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def count_flops(model, shape):
    """Multiply-adds of one sample of this shape; what is in it does not matter."""
    total = 0

    def conv(module, inputs, output):
        nonlocal total
        total += output.numel() * module.weight[0].numel()

    def linear(module, inputs, output):
        nonlocal total
        total += output.numel() * module.in_features

    probe = copy.deepcopy(model).eval()
    hooks = []
    for module in probe.modules():
        if isinstance(module, nn.Conv2d):
            hooks.append(module.register_forward_hook(conv))
        elif isinstance(module, nn.Linear):
            hooks.append(module.register_forward_hook(linear))
    with torch.no_grad():
        probe(torch.empty(1, *shape))
    for hook in hooks:
        hook.remove()
    return total
