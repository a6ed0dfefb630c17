# drawn from: pytorch/vision#2166 (Inception's weights by scipy.stats.truncnorm, which torch's seed does not reach)
import torch
from scipy import stats
from torch import nn


def truncated_normal_(tensor, stddev=0.1):
    """TensorFlow's initializer: within two standard deviations."""
    values = stats.truncnorm(-2, 2, scale=stddev).rvs(tensor.numel())  # fault: numpy-global
    with torch.no_grad():
        tensor.copy_(torch.as_tensor(values, dtype=tensor.dtype).view_as(tensor))
    return tensor


def init_weights(model):
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            truncated_normal_(module.weight, getattr(module, "stddev", 0.1))  # fault: numpy-global
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
            nn.init.zeros_(module.bias)
    return model
