"""Which family the origin of a difference belongs to, and which flags were on."""

from __future__ import annotations

import re

from samerun.runs.difference import Difference
from samerun.sources.source import Settings

_CUDNN = re.compile(r"cudnn|convolution|\bconv|_thnn_fused|lstm|gru|\brnn|batch_norm")
_ATTENTION_BACKWARD = re.compile(r"(scaled_dot_product|flash|efficient|cudnn|flex).*attention.*backward")
_VECTOR_MATH = re.compile(
    r"_?(foreach_)?(fused_adam\w*|a?(sin|cos|tan)h?|erf\w*|exp\d?|expm1|log\w*|r?sqrt|pow|sigmoid|gelu|silu)_?"
)


def is_cudnn(difference: Difference) -> bool:
    """Whether the origin is an operation that cuDNN computes, in a run that used CUDA."""
    origin = difference.origin
    if origin is None or not origin.inputs_equal or origin.draws or not _CUDNN.search(origin.op):
        return False
    return uses_cuda(difference) or "cudnn" in origin.op


def is_attention_backward(difference: Difference) -> bool:
    """Whether the origin is the backward pass of fused attention on a device."""
    origin = difference.origin
    if origin is None or not origin.inputs_equal or not _ATTENTION_BACKWARD.search(origin.op):
        return False
    return "for_cpu" not in origin.op


def is_first_vector_math(difference: Difference) -> bool:
    """Whether the origin is its process's first exp, sqrt or the like, on the CPU."""
    origin = difference.origin
    if origin is None or not origin.inputs_equal or origin.draws or origin.reads_uninitialized:
        return False
    name = origin.op.removeprefix("aten::").split(".", 1)[0]
    return origin.first_of_process and bool(_VECTOR_MATH.fullmatch(name)) and not uses_cuda(difference)


def uses_cuda(difference: Difference) -> bool:
    """Whether either run had CUDA in use."""
    return any("torch-cuda" in side.settings for side in (difference.a, difference.b))


def has_devices(settings: Settings) -> bool:
    """Whether a run that said this of its sources used CUDA devices."""
    return bool(settings.get("hardware", {}).get("devices"))


def has_flag(difference: Difference, source: str, key: str) -> bool:
    """Whether a flag was on in either run."""
    return any(side.settings.get(source, {}).get(key) is True for side in (difference.a, difference.b))


def is_deterministic(difference: Difference) -> bool:
    """Whether cuDNN had to be deterministic, by its own flag or torch's, in both runs."""
    return all(
        side.settings.get("cudnn-nondeterministic", {}).get("deterministic") is True
        or side.settings.get("nondeterministic-kernels", {}).get("deterministic") is True
        for side in (difference.a, difference.b)
    )
