"""What a module holds, asked so that one which cannot say, or whose own method fails, breaks nothing off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from samerun.interruption import is_the_scripts


def list_named(root: nn.Module, kind: str) -> list[tuple[str, Any]]:
    """What one of a module's methods such as `named_parameters` gives; torch's own where that fails.

    Nothing of a Keras layer that has not begun to track its variables: it would begin when it is asked, and
    track what stands in their place while it is built.
    """
    if hasattr(type(root), "_track_variables") and "_torch_params" not in root._modules:
        return []
    torchs: Callable[[nn.Module], Any] = getattr(nn.Module, kind)
    for method in (lambda module: getattr(module, kind)(), torchs):
        try:
            return list(method(root))
        except Exception as error:  # the script's own method, or a module that was not initialised
            if is_the_scripts(error):
                raise
    return []


def read_versions(root: nn.Module) -> list[tuple[int, int]]:
    """Which tensors its parameters are, and how often each was written to."""
    return [(id(tensor), _read_version(tensor)) for _, tensor in list_named(root, "named_parameters")]


def _read_version(tensor: torch.Tensor) -> int:
    try:
        return tensor._version
    except Exception as error:  # one made in inference mode, or that has no data yet
        if is_the_scripts(error):
            raise
        return 0


def get_buffers(module: nn.Module) -> Any:
    """Its own buffers by name, of which those of a scripted module are no dict."""
    try:
        return module._buffers
    except Exception as error:
        if is_the_scripts(error):
            raise
        return {}


def is_training(module: nn.Module) -> bool:
    """Whether it is in training mode; one that does not say so is."""
    try:
        return bool(module.training)
    except Exception as error:
        if is_the_scripts(error):
            raise
        return True


def is_loss(module: nn.Module, result: Any) -> bool:
    """Whether it is one of torch's losses, or holds nothing and gives a number with gradients."""
    if isinstance(module, nn.modules.loss._Loss):
        return True
    if not isinstance(result, torch.Tensor) or result.dim() or not result.requires_grad:
        return False
    return not list_named(module, "named_parameters") and not list_named(module, "named_buffers")
